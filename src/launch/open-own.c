/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "launch/open-own.h"

#define LINKS_MAX 40 /* as the kernel has it */

typedef struct Walk {
        int fd; /* where it stands */
        char rest[PATH_MAX]; /* what is still to be walked */
        unsigned n_links, n_not_roots;
} Walk;

static int go_to_root(Walk *w) {
        fd_close(w->fd);
        w->fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        return w->fd < 0 ? -errno : 0;
}

/* Puts where the link leads before what is still to be walked, behind the `n` bytes that were its name. */
static int follow(Walk *w, int link_fd, const struct stat *st, size_t n) {
        char target[PATH_MAX], rest[PATH_MAX];
        ssize_t k;

        if (++w->n_links > LINKS_MAX || (st->st_uid != 0 && ++w->n_not_roots > 1))
                return -ELOOP;

        k = readlinkat(link_fd, "", target, sizeof(target) - 1);
        if (k < 0)
                return -errno;
        target[k] = '\0';
        if (snprintf(rest, sizeof(rest), "%s%s", target, w->rest + n) >= (int) sizeof(rest))
                return -ENAMETOOLONG;

        (void) strcpy(w->rest, rest);
        return *target == '/' ? go_to_root(w) : 0;
}

/* The next name of the path: 1 when that was the last one, and is where the walk now stands. */
static int step(Walk *w) {
        const size_t slashes = strspn(w->rest, "/"), n = slashes + strcspn(w->rest + slashes, "/");
        _cleanup_close_ int fd = -EBADF;
        char name[NAME_MAX + 1];
        struct stat st;

        if (n == slashes)
                return 1;
        if (n - slashes > NAME_MAX)
                return -ENAMETOOLONG;
        *(char *) mempcpy(name, w->rest + slashes, n - slashes) = '\0';

        fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode))
                return follow(w, fd, &st, n);

        memmove(w->rest, w->rest + n, strlen(w->rest + n) + 1);
        fd_close(w->fd);
        w->fd = TAKE_FD(fd);
        return 0;
}

int open_own(const char *path) {
        Walk w = { .fd = -EBADF };
        int r;

        if (strlen(path) >= sizeof(w.rest))
                return -ENAMETOOLONG;
        (void) strcpy(w.rest, path);

        r = go_to_root(&w);
        while (r == 0)
                r = step(&w);
        if (r < 0) {
                fd_close(w.fd);
                return r;
        }

        return w.fd;
}

int open_own_file(const char *path) {
        char proc[STRLEN("/proc/self/fd/") + 12];
        _cleanup_close_ int found = open_own(path);
        struct stat st;
        int fd;

        if (found < 0)
                return found;
        if (fstat(found, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -ENOTREG;

        (void) snprintf(proc, sizeof(proc), "/proc/self/fd/%d", found);
        fd = open(proc, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? -errno : fd;
}
