/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "shared/clone-file.h"
#include "shared/replace-file.h"

#define STEP (16 * MIB)

typedef struct Copy {
        int source_fd, target_fd;
        off_t done;
        uint64_t total;
        CloneProgress progress;
        void *userdata;
} Copy;

static void tell(const Copy *c) {
        if (c->progress)
                c->progress((uint64_t) c->done, c->total, c->userdata);
}

/* By hand, where the kernel cannot between these two file systems. */
static int copy_by_hand(Copy *c) {
        _cleanup_free_ char *buf = malloc(MIB);

        if (!buf)
                return -ENOMEM;

        for (;;) {
                ssize_t k;
                int r;

                k = pread(c->source_fd, buf, MIB, c->done);
                if (k <= 0)
                        return k < 0 ? -errno : 0;
                r = io_write_all(c->target_fd, buf, (size_t) k);
                if (r < 0)
                        return r;
                c->done += k;
                tell(c);
        }
}

static int copy_bytes(Copy *c) {
        struct stat st;

        if (fstat(c->source_fd, &st) < 0)
                return -errno;
        c->total = (uint64_t) st.st_size;
        tell(c);

        for (;;) {
                ssize_t k;

                k = copy_file_range(c->source_fd, &c->done, c->target_fd, NULL, STEP, 0);
                if (k == 0)
                        return 0;
                if (k < 0)
                        break;
                tell(c);
        }
        if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM)
                return -errno;

        return copy_by_hand(c);
}

int clone_contents(int source_fd, int target_fd, CloneProgress progress, void *userdata) {
        if (ioctl(target_fd, FICLONE, source_fd) >= 0)
                return 0;

        return copy_bytes(&(Copy) { .source_fd = source_fd, .target_fd = target_fd, .progress = progress, .userdata = userdata });
}

int clone_file_at(int source_fd, int dir_fd, const char *name, mode_t mode) {
        _cleanup_free_ char *temporary = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = temporary_name(name, &temporary);
        if (r < 0)
                return r;

        fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;

        r = clone_contents(source_fd, fd, NULL, NULL);
        if (r >= 0 && fchmod(fd, mode) < 0)
                r = -errno;
        if (r >= 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(dir_fd, temporary, 0);

        return r;
}
