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

#define DEPTH_MAX 512    /* each level holds one descriptor */
#define ROUNDS_MAX 8     /* a directory that somebody keeps filling */

DEFINE_CLEANUP(DIR *, closedir);

static int remove_tree(int dir_fd, const char *name, dev_t device, unsigned depth);

/* Opens a directory, also one whose owner has taken the permission to read it away. */
static int open_directory(int dir_fd, const char *name) {
        char proc[STRLEN("/proc/self/fd/") + 12];
        _cleanup_close_ int path_fd = -EBADF;
        int fd;

        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 || errno != EACCES)
                return fd >= 0 ? fd : -errno;

        /* Changed by descriptor: the name may be a link by now. */
        path_fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (path_fd < 0)
                return -errno;
        (void) snprintf(proc, sizeof(proc), "/proc/self/fd/%d", path_fd);
        if (chmod(proc, 0700) < 0)
                return -errno;

        fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd >= 0 ? fd : -errno;
}

static int remove_entries(int fd, dev_t device, unsigned depth) {
        _cleanup_(closedirp) DIR *d = NULL;
        struct dirent *de;
        int copy, r = 0;

        copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (copy < 0)
                return -errno;
        d = fdopendir(copy);
        if (!d) {
                r = -errno;
                fd_close(copy);
                return r;
        }

        while ((de = readdir(d))) {
                int k;

                if (streq(de->d_name, ".") || streq(de->d_name, ".."))
                        continue;

                k = remove_tree(fd, de->d_name, device, depth + 1);
                if (k < 0 && r >= 0)
                        r = k;
        }

        return r;
}

static int remove_tree(int dir_fd, const char *name, dev_t device, unsigned depth) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        if (unlinkat(dir_fd, name, 0) >= 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR && errno != EPERM)
                return -errno;
        if (depth > DEPTH_MAX)
                return -ELOOP;

        fd = open_directory(dir_fd, name);
        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_dev != device)
                return -EXDEV;
        if ((st.st_mode & 0700) != 0700)
                (void) fchmod(fd, 0700);

        for (unsigned i = 0; i < ROUNDS_MAX; i++) {
                r = remove_entries(fd, device, depth);
                if (unlinkat(dir_fd, name, AT_REMOVEDIR) >= 0 || errno == ENOENT)
                        return 0;
                if (r < 0 || errno != ENOTEMPTY)
                        return r < 0 ? r : -errno;
        }

        return -ENOTEMPTY;
}

int rm_rf_at(int dir_fd, const char *name) {
        struct stat st;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : -errno;

        return remove_tree(dir_fd, name, st.st_dev, 0);
}
