/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/clock.h"
#include "basic/fd.h"
#include "shared/lock.h"
#include "shared/mkdir.h"

/* Many may be waiting in turn on a busy machine; a stopped process must not hold others up for ever. */
#define WAIT_USEC (10 * USEC_PER_SEC)
#define RETRY_USEC (10 * USEC_PER_MSEC)

int lock_bounded(int fd, int operation) {
        const uint64_t until = now_usec() + WAIT_USEC;

        while (flock(fd, operation | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                if (now_usec() >= until)
                        return -EBUSY;
                (void) usleep(RETRY_USEC);
        }

        return 0;
}

int profiles_lock(const Dirs *dirs, LockMode mode) {
        const int create = mode == PROFILES_READ ? 0 : O_CREAT;
        _cleanup_close_ int dir_fd = -EBADF, fd = -EBADF;
        int r;

        if (mode == PROFILES_READ)
                dir_fd = open(dirs->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        else
                dir_fd = mkdir_open(dirs->data);
        if (dir_fd < 0)
                return mode == PROFILES_READ ? -errno : dir_fd;

        fd = openat(dir_fd, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | create, 0600);
        if (fd < 0)
                return -errno;

        r = lock_bounded(fd, mode == PROFILES_CHANGE ? LOCK_EX : LOCK_SH);
        return r < 0 ? r : TAKE_FD(fd);
}
