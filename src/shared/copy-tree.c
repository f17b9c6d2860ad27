/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "shared/copy-tree.h"

#define BYTES_MAX (512 * MIB)
#define ENTRIES_MAX 20000
#define DEPTH_MAX 32

DEFINE_CLEANUP(DIR *, closedir);

typedef struct Copy {
        uint64_t bytes;
        unsigned entries;
} Copy;

static int copy_directory(Copy *c, int source_fd, int dir_fd, const char *name, mode_t mode, unsigned depth);

static int copy_link(int source_fd, int dir_fd, const char *name) {
        char target[PATH_MAX];
        ssize_t n;

        n = readlinkat(source_fd, name, target, sizeof(target) - 1);
        if (n < 0)
                return -errno;

        target[n] = '\0';
        return symlinkat(target, dir_fd, name) < 0 ? -errno : 0;
}

/* As long as it was: a file that grows meanwhile has no end. */
static int copy_bytes(int from, int to, uint64_t n) {
        char buf[64 * KIB];

        while (n > 0) {
                ssize_t k;
                int r;

                k = read(from, buf, MIN(n, sizeof(buf)));
                if (k <= 0)
                        return k < 0 ? -errno : 0;
                r = io_write_all(to, buf, (size_t) k);
                if (r < 0)
                        return r;
                n -= (uint64_t) k;
        }

        return 0;
}

static int copy_file(Copy *c, int source_fd, int dir_fd, const char *name) {
        _cleanup_close_ int from = -EBADF, to = -EBADF;
        struct stat st;
        int r;

        from = openat(source_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (from < 0 || fstat(from, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return 0;
        if (st.st_size > (off_t) (BYTES_MAX - c->bytes))
                return -EFBIG;
        c->bytes += (uint64_t) st.st_size;

        to = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (to < 0)
                return -errno;
        r = copy_bytes(from, to, (uint64_t) st.st_size);
        if (r >= 0 && (fchmod(to, (st.st_mode & 0777) | 0600) < 0 ||
                        futimens(to, (const struct timespec[]) { st.st_atim, st.st_mtim }) < 0))
                r = -errno;
        return r;
}

static int copy_entry(Copy *c, int source_fd, int dir_fd, const char *name, unsigned depth) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (++c->entries > ENTRIES_MAX || depth > DEPTH_MAX)
                return -EFBIG;

        if (fstatat(source_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (S_ISLNK(st.st_mode))
                return copy_link(source_fd, dir_fd, name);
        if (S_ISREG(st.st_mode))
                return copy_file(c, source_fd, dir_fd, name);
        if (!S_ISDIR(st.st_mode))
                return 0;

        fd = openat(source_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return fd < 0 ? -errno : copy_directory(c, fd, dir_fd, name, st.st_mode, depth);
}

static int copy_directory(Copy *c, int source_fd, int dir_fd, const char *name, mode_t mode, unsigned depth) {
        _cleanup_close_ int to = -EBADF, own = -EBADF;
        _cleanup_(closedirp) DIR *d = NULL;
        struct dirent *e;

        if (mkdirat(dir_fd, name, 0700) < 0)
                return -errno;
        to = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        own = openat(source_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (to < 0 || own < 0)
                return -errno;
        d = fdopendir(own);
        if (!d)
                return -errno;
        own = -EBADF;

        while ((errno = 0, e = readdir(d))) {
                int r;

                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                r = copy_entry(c, source_fd, to, e->d_name, depth + 1);
                if (r < 0)
                        return r;
        }
        if (errno != 0)
                return -errno;

        return fchmod(to, (mode & 0777) | 0700) < 0 ? -errno : 0;
}

int copy_tree_at(int source_fd, int dir_fd, const char *name) {
        struct stat st;

        if (fstat(source_fd, &st) < 0)
                return -errno;
        return copy_directory(&(Copy) { 0 }, source_fd, dir_fd, name, st.st_mode, 0);
}
