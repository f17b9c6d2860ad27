/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "bridge/cgroup-tree.h"

#define DEPTH_MAX 32

DEFINE_CLEANUP(DIR *, closedir);

const char *cgroup_tree_mount(void) {
        static const char *const candidates[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

        for (size_t i = 0; i < ELEMENTSOF(candidates); i++) {
                struct statfs fs;

                if (statfs(candidates[i], &fs) >= 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
                        return candidates[i];
        }

        return NULL;
}

typedef struct Walk {
        uint64_t id;
        size_t left;         /* directories that may still be looked at */
        size_t length;       /* of `path` */
        char path[PATH_MAX]; /* the directory at hand, below the mount */
} Walk;

static int walk_push(Walk *w, const char *name) {
        size_t n = strlen(name);

        if (w->left == 0 || w->length + n + 2 > sizeof(w->path))
                return -E2BIG;

        w->left--;
        if (w->path[w->length - 1] != '/')
                w->path[w->length++] = '/';
        memcpy(w->path + w->length, name, n + 1);
        w->length += n;
        return 0;
}

static void walk_pop(Walk *w, size_t length) {
        w->length = length;
        w->path[length] = '\0';
}

/* Owns `fd`. Returns 1 when found, with the path left in `w`. */
static int walk_directory(Walk *w, int fd, int depth) {
        _cleanup_(closedirp) DIR *dir = NULL;
        struct dirent *e;

        dir = fdopendir(fd);
        if (!dir) {
                fd_close(fd);
                return -errno;
        }

        while ((e = readdir(dir))) {
                size_t length = w->length;
                int child, r;

                if (e->d_type != DT_DIR || streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                if (depth >= DEPTH_MAX)
                        return -E2BIG;

                r = walk_push(w, e->d_name);
                if (r < 0)
                        return r;
                if (e->d_ino == w->id)
                        return 1;

                child = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
                if (child < 0 && (errno == EMFILE || errno == ENFILE))
                        return -errno;
                if (child >= 0) { /* else it has gone in between */
                        r = walk_directory(w, child, depth + 1);
                        if (r != 0)
                                return r;
                }

                walk_pop(w, length);
        }

        return 0;
}

int cgroup_tree_find(const char *mount, const char *path, uint64_t id, size_t max, char **ret_path) {
        _cleanup_free_ char *top = NULL;
        struct stat st;
        Walk w = { .id = id, .left = max, .length = strlen(path) };
        int fd, r;

        if (w.length == 0 || w.length >= sizeof(w.path))
                return -EINVAL;
        memcpy(w.path, path, w.length + 1);

        r = asprintf_to(&top, "%s%s", mount, path);
        if (r < 0)
                return r;
        fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0) {
                r = -errno;
                fd_close(fd);
                return r;
        }

        if (st.st_ino == id) {
                fd_close(fd);
                r = 1;
        } else
                r = walk_directory(&w, fd, 0);
        if (r <= 0 || !ret_path)
                return r;

        return strdup_to(ret_path, w.path) < 0 ? -ENOMEM : 1;
}
