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
#include "basic/parse.h"
#include "basic/random.h"
#include "shared/clone-file.h"

static int copy_bytes(int source_fd, int target_fd) {
        _cleanup_free_ char *buf = NULL;
        off_t in = 0;

        for (;;) {
                ssize_t k;

                k = copy_file_range(source_fd, &in, target_fd, NULL, 1 << 30, 0);
                if (k == 0)
                        return 0;
                if (k < 0)
                        break;
        }
        if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM)
                return -errno;

        /* Not between these two file systems: by hand. */
        buf = malloc(MIB);
        if (!buf)
                return -ENOMEM;
        for (;;) {
                ssize_t k;
                int r;

                k = pread(source_fd, buf, MIB, in);
                if (k <= 0)
                        return k < 0 ? -errno : 0;
                r = io_write_all(target_fd, buf, (size_t) k);
                if (r < 0)
                        return r;
                in += k;
        }
}

int clone_file_at(int source_fd, int dir_fd, const char *name, mode_t mode) {
        _cleanup_free_ char *temporary = NULL;
        _cleanup_close_ int fd = -EBADF;
        unsigned char noise[8];
        char suffix[2 * sizeof(noise) + 1];
        int r;

        r = random_bytes(noise, sizeof(noise));
        if (r < 0)
                return r;
        hex_encode(noise, sizeof(noise), suffix);
        r = asprintf_to(&temporary, ".%s.%s", name, suffix);
        if (r < 0)
                return r;

        fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;

        r = ioctl(fd, FICLONE, source_fd) >= 0 ? 0 : copy_bytes(source_fd, fd);
        if (r >= 0 && fchmod(fd, mode) < 0)
                r = -errno;
        if (r >= 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(dir_fd, temporary, 0);

        return r;
}
