/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/random.h"
#include "shared/replace-file.h"

int temporary_name(const char *name, char **ret) {
        unsigned char noise[8];
        char suffix[2 * sizeof(noise) + 1];
        int r;

        r = random_bytes(noise, sizeof(noise));
        if (r < 0)
                return r;

        hex_encode(noise, sizeof(noise), suffix);
        return asprintf_to(ret, ".%s.%s", name, suffix);
}

static int write_and_sync(int fd, mode_t mode, const void *data, size_t n) {
        int r;

        if (fchmod(fd, mode) < 0)
                return -errno;

        r = io_write_all(fd, data, n);
        if (r < 0)
                return r;
        if (ftruncate(fd, (off_t) n) < 0)
                return -errno;

        return fsync(fd) < 0 ? -errno : 0;
}

int replace_file_at(int dir_fd, const char *name, mode_t mode, const void *data, size_t n) {
        _cleanup_free_ char *temporary = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = temporary_name(name, &temporary);
        if (r < 0)
                return r;

        fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;

        r = write_and_sync(fd, mode, data, n);
        if (r >= 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(dir_fd, temporary, 0);

        return r;
}

int overwrite_file_at(int dir_fd, const char *name, mode_t mode, const void *data, size_t n) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -ENOTREG;

        return write_and_sync(fd, mode, data, n);
}
