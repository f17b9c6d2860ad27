/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/path.h"
#include "shared/lock.h"

#define WAIT_USEC (2 * USEC_PER_SEC)
#define RETRY_USEC (10 * USEC_PER_MSEC)

static int lock_bounded(int fd, int operation) {
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
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        path = path_join(dirs->data, "lock");
        if (!path)
                return -ENOMEM;

        fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
        if (fd < 0 && errno == ENOENT && mode != PROFILES_READ) {
                r = mkdir_parents(dirs->data);
                if (r < 0)
                        return r;
                fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
        }
        if (fd < 0)
                return -errno;

        r = lock_bounded(fd, mode == PROFILES_CHANGE ? LOCK_EX : LOCK_SH);
        return r < 0 ? r : TAKE_FD(fd);
}
