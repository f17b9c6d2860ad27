/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "shared/rm-rf.h"

#define DEPTH_MAX 128      /* each level holds a descriptor and a buffer of readdir() */
#define LIFTED_MAX 65536   /* deeper subtrees that are moved up to the top */
#define ROUNDS_MAX 8       /* a directory that somebody keeps filling */

DEFINE_CLEANUP(DIR *, closedir);

typedef struct Removal {
        dev_t device;
        int top_fd;        /* the directory that is removed; -EBADF until it is open */
        unsigned lifted;
} Removal;

static int remove_entry(Removal *x, int dir_fd, const char *name, unsigned depth);

/* Opens a directory, also one whose owner has taken the permission to read it away, and lets its entries be removed. */
static int open_directory(const Removal *x, int dir_fd, const char *name) {
        char proc[STRLEN("/proc/self/fd/") + 12];
        _cleanup_close_ int path_fd = -EBADF, fd = -EBADF;
        struct stat st;

        path_fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (path_fd < 0 || fstat(path_fd, &st) < 0)
                return -errno;
        if (st.st_dev != x->device)
                return -EXDEV;

        /* Changed by descriptor: the name may be a link by now. */
        (void) snprintf(proc, sizeof(proc), "/proc/self/fd/%d", path_fd);
        if ((st.st_mode & 0700) != 0700 && chmod(proc, 0700) < 0)
                return -errno;

        fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 ? -errno : TAKE_FD(fd);
}

/* Moves a directory that lies too deep up to the top, where the next round finds it. */
static int lift(Removal *x, int dir_fd, const char *name) {
        char lifted[32];
        int fd;

        /* Its ".." changes, so it must be writable itself. */
        fd = open_directory(x, dir_fd, name);
        if (fd < 0)
                return fd;
        fd_close(fd);

        while (x->lifted < LIFTED_MAX) {
                (void) snprintf(lifted, sizeof(lifted), ".lifted-%u", x->lifted++);
                if (renameat2(dir_fd, name, x->top_fd, lifted, RENAME_NOREPLACE) >= 0)
                        return 0;
                if (errno != EEXIST)
                        return -errno;
        }

        return -ELOOP;
}

/* One round. The first error comes back, after all that could be removed is gone. */
static int remove_entries(Removal *x, DIR *d, unsigned depth) {
        struct dirent *de;
        int r = 0;

        rewinddir(d);
        while ((de = readdir(d))) {
                int k;

                if (streq(de->d_name, ".") || streq(de->d_name, ".."))
                        continue;

                k = remove_entry(x, dirfd(d), de->d_name, depth + 1);
                if (k < 0 && r >= 0)
                        r = k;
        }

        return r;
}

static int remove_directory(Removal *x, int dir_fd, const char *name, unsigned depth) {
        _cleanup_(closedirp) DIR *d = NULL;
        unsigned rounds = 0;
        int fd, r;

        if (depth > DEPTH_MAX)
                return lift(x, dir_fd, name);

        fd = open_directory(x, dir_fd, name);
        if (fd < 0)
                return fd;
        d = fdopendir(fd);
        if (!d) {
                fd_close(fd);
                return -errno;
        }
        if (depth == 0)
                x->top_fd = fd;

        while (rounds++ < ROUNDS_MAX) {
                unsigned before = x->lifted;

                r = remove_entries(x, d, depth);
                if (unlinkat(dir_fd, name, AT_REMOVEDIR) >= 0)
                        return 0;
                if (r < 0 || errno != ENOTEMPTY)
                        return r < 0 ? r : -errno;

                /* What was moved up is progress. */
                if (x->lifted > before)
                        rounds = 0;
        }

        return -ENOTEMPTY;
}

static int remove_entry(Removal *x, int dir_fd, const char *name, unsigned depth) {
        for (unsigned i = 0; i < ROUNDS_MAX; i++) {
                int r, error;

                if (unlinkat(dir_fd, name, 0) >= 0 || errno == ENOENT)
                        return 0;
                if (errno != EISDIR && errno != EPERM)
                        return -errno;

                error = -errno;
                r = remove_directory(x, dir_fd, name, depth);
                if (r == -ENOENT)
                        return 0;
                if (r != -ENOTDIR)
                        return r;
                /* No directory, and it may not be removed; or no directory any more. */
                if (error == -EPERM)
                        return error;
        }

        return -ENOTEMPTY;
}

int rm_rf_at(int dir_fd, const char *name) {
        Removal x = { .top_fd = -EBADF };
        struct stat st;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;

        x.device = st.st_dev;
        return remove_entry(&x, dir_fd, name, 0);
}
