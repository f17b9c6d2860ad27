/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "bridge/native-host.h"
#include "bridge/unix-connect.h"

#define SUFFIX ".sock"
#define NAME_SIZE 32     /* claude's own are a process id and the suffix */
#define CANDIDATES_MAX 64 /* the newest of more */

DEFINE_CLEANUP(DIR *, closedir);

typedef struct Candidate {
        char name[NAME_SIZE];
        struct timespec when;
} Candidate;

static bool is_newer(const Candidate *a, const Candidate *b) {
        return a->when.tv_sec != b->when.tv_sec ? a->when.tv_sec > b->when.tv_sec
                                                : a->when.tv_nsec > b->when.tv_nsec;
}

/* Keeps the list sorted, the newest first. */
static void candidate_insert(Candidate *list, size_t *n, const Candidate *c) {
        size_t i = *n;

        while (i > 0 && is_newer(c, &list[i - 1]))
                i--;
        if (i >= CANDIDATES_MAX)
                return;

        if (*n < CANDIDATES_MAX)
                (*n)++;
        memmove(list + i + 1, list + i, (*n - i - 1) * sizeof(*list));
        list[i] = *c;
}

/* By descriptor, so that what is looked at is what is used. */
static int directory_open(const char *path, DIR **ret) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return errno == ELOOP || errno == ENOTDIR ? -EPERM : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_uid != getuid() || (st.st_mode & 077) != 0)
                return -EPERM;

        *ret = fdopendir(fd);
        if (!*ret)
                return -errno;

        (void) TAKE_FD(fd);
        return 0;
}

static size_t collect(DIR *dir, Candidate *list) {
        struct dirent *e;
        size_t n = 0;

        while ((e = readdir(dir))) {
                Candidate c;
                struct stat st;

                if (!str_has_suffix(e->d_name, SUFFIX) || strlen(e->d_name) >= sizeof(c.name))
                        continue;
                if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISSOCK(st.st_mode) ||
                                st.st_uid != getuid())
                        continue;

                c.when = st.st_mtim;
                (void) stpcpy(c.name, e->d_name);
                candidate_insert(list, &n, &c);
        }

        return n;
}

int native_host_connect(const char *directory) {
        _cleanup_(closedirp) DIR *dir = NULL;
        Candidate list[CANDIDATES_MAX];
        size_t n;
        int r;

        r = directory_open(directory, &dir);
        if (r < 0)
                return r;

        n = collect(dir, list);
        for (size_t i = 0; i < n; i++) {
                char path[NAME_SIZE + 32];

                (void) snprintf(path, sizeof(path), "/proc/self/fd/%d/%.*s", dirfd(dir), NAME_SIZE - 1, list[i].name);
                r = unix_connect(path);
                if (r >= 0 || r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -ENOBUFS)
                        return r;
        }

        return -ENOENT;
}
