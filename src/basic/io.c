/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"

#define IO_READ_MIN (4 * KIB) /* most files that are read here are smaller */

int io_write_all(int fd, const void *buf, size_t n) {
        const char *p = buf;

        while (n > 0) {
                ssize_t k;

                k = write(fd, p, n);
                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }

                p += k;
                n -= (size_t) k;
        }

        return 0;
}

int io_read_all(int fd, size_t max, char **ret, size_t *ret_n) {
        _cleanup_free_ char *buf = NULL;
        size_t allocated = 0, n = 0;

        for (;;) {
                ssize_t k;
                int r;

                /* One byte for the NUL, and one at least to read: at the end of the file that finds nothing. */
                r = grow(&buf, &allocated, MAX(n + 2, IO_READ_MIN), 1);
                if (r < 0)
                        return r;

                k = read(fd, buf + n, allocated - n - 1);
                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }
                if (k == 0)
                        break;

                n += (size_t) k;
                if (n > max)
                        return -EFBIG;
        }

        buf[n] = '\0';
        *ret = TAKE_PTR(buf);
        if (ret_n)
                *ret_n = n;
        return 0;
}

int io_read_file_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        /* O_NONBLOCK: a FIFO in place of the file must not hang the caller. */
        fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return -errno;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -ENOTREG;

        return io_read_all(fd, max, ret, ret_n);
}

static int open_resolved(int dir_fd, const char *path, int flags, uint64_t resolve) {
        const struct open_how how = { .flags = (uint64_t) flags | O_CLOEXEC, .resolve = resolve };
        int fd;

        fd = (int) syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
        return fd < 0 ? -errno : fd;
}

int io_open_no_links(const char *path) {
        return open_resolved(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, RESOLVE_NO_SYMLINKS);
}

int io_open_beneath(int dir_fd, const char *path, int flags) {
        return open_resolved(dir_fd, *path == '\0' ? "." : path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

int io_write_new_at(int dir_fd, const char *path, mode_t mode, const void *buf, size_t n) {
        _cleanup_close_ int fd = -EBADF;

        fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;

        if (mode != 0600 && fchmod(fd, mode) < 0)
                return -errno;

        return io_write_all(fd, buf, n);
}
