/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/trust-look.h"

#define BUFFER_SIZE (32 * KIB)
#define NSEC_PER_SEC 1000000000ull

/* The way to it is the user's; but another sandbox may write what lies above a work root. */
static int open_root(const char *path, bool no_links) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        fd = no_links ? io_open_no_links(path) : open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return no_links ? fd : -errno;
        if (fstat(fd, &st) < 0)
                return -errno;

        return S_ISDIR(st.st_mode) ? TAKE_FD(fd) : -ENOTDIR;
}

int trust_look_begin(TrustLook *l) {
        const size_t n = TRUST_ROOT_OUTSIDE + strv_length(l->scope->git_dirs);

        l->roots = new(int, n);
        l->buffer = malloc(BUFFER_SIZE);
        if (!l->roots || !l->buffer)
                return -ENOMEM;

        for (unsigned i = 0; i < n; i++) {
                const char *path = trust_scope_root(l->scope, i), *below;
                unsigned root = i;
                int fd = -EBADF;

                /* A git directory below another root is none of its own. */
                if (i < TRUST_ROOT_OUTSIDE || (trust_scope_locate(l->scope, path, &root, &below) && root == i))
                        fd = open_root(path, i != TRUST_ROOT_PROFILE);
                if (fd < 0 && i < TRUST_ROOT_OUTSIDE)
                        return fd;
                l->roots[l->n_roots++] = fd;
        }

        return 0;
}

void trust_look_end(TrustLook *l) {
        for (size_t i = 0; i < l->n_roots; i++)
                fd_close(l->roots[i]);
        free(l->roots);
        free(l->buffer);
}

int trust_look_open(const TrustLook *l, unsigned root, const char *path, bool directory) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        /* O_NONBLOCK: a FIFO's writer is not waited for. */
        fd = io_open_beneath(l->roots[root], path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (directory ? O_DIRECTORY : 0));
        if (fd < 0)
                return fd;
        if (!directory && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
                return -ENOTREG;

        return TAKE_FD(fd);
}

/* What the earlier snapshot knows of the same content. */
static bool hash_known(const TrustLook *l, TrustItem *item) {
        const TrustItem *old = trust_snapshot_find(l->before, item->root, item->path, false);

        if (!old || old->type != TRUST_ITEM_FILE || !old->hashed || old->inode != item->inode || old->size != item->size ||
                        old->ctime_nsec != item->ctime_nsec)
                return false;

        memcpy(item->digest, old->digest, SHA256_SIZE);
        item->hashed = true;
        return true;
}

/* A file that cannot be read, or is another by now, is compared by what stat(2) said of it. */
static void hash_file(TrustLook *l, int dir_fd, const char *name, TrustItem *item) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *data = NULL;
        struct stat st;
        Sha256 sum;
        size_t n;

        if (item->size > TRUST_HASHED_FILE_MAX || hash_known(l, item) || l->hashed + item->size > TRUST_HASHED_MAX)
                return;

        fd = io_open_beneath(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != item->inode)
                return;
        if (io_read_all(fd, TRUST_HASHED_FILE_MAX, &data, &n) < 0)
                return;

        l->hashed += n;
        item->size = n;
        sha256_begin(&sum);
        sha256_add(&sum, data, n);
        sha256_finish(&sum, item->digest);
        item->hashed = true;
}

static void hash_link(int dir_fd, const char *name, TrustItem *item) {
        char target[PATH_MAX];
        ssize_t n;
        Sha256 sum;

        n = readlinkat(dir_fd, name, target, sizeof(target));
        sha256_begin(&sum);
        sha256_add(&sum, target, n < 0 ? 0 : (size_t) n);
        sha256_finish(&sum, item->digest);
        item->hashed = true;
}

static TrustItemType type_of(const struct stat *st) {
        return S_ISREG(st->st_mode) ? TRUST_ITEM_FILE :
                S_ISLNK(st->st_mode) ? TRUST_ITEM_LINK :
                S_ISDIR(st->st_mode) ? TRUST_ITEM_DIRECTORY :
                TRUST_ITEM_OTHER;
}

/* `name` of an open directory, which is `path` below the root; owns `path` from entry on. */
static int look_at_entry(TrustLook *l, unsigned root, int dir_fd, const char *name, char *path, unsigned thing) {
        TrustItem item = { .root = root, .thing = thing, .path = path };
        struct stat st;

        if (!path)
                return -ENOMEM;
        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                free(path);
                return 0; /* gone by now */
        }

        item.type = type_of(&st);
        if (item.type == TRUST_ITEM_DIRECTORY)
                item.type = streq(path_last(path), ".git") ? TRUST_ITEM_REPOSITORY : TRUST_ITEM_DIRECTORY;
        item.executable = item.type == TRUST_ITEM_FILE && (st.st_mode & 0111);
        item.size = item.type == TRUST_ITEM_FILE ? (uint64_t) st.st_size : 0;
        item.inode = st.st_ino;
        item.ctime_nsec = (uint64_t) st.st_ctim.tv_sec * NSEC_PER_SEC + (uint64_t) st.st_ctim.tv_nsec;
        if (item.type == TRUST_ITEM_FILE)
                hash_file(l, dir_fd, name, &item);
        else if (item.type == TRUST_ITEM_LINK)
                hash_link(dir_fd, name, &item);

        return trust_snapshot_add(l->snapshot, &item);
}

static int add_plain(TrustLook *l, unsigned root, const char *path, unsigned thing, TrustItemType type) {
        return trust_snapshot_add(l->snapshot, &(TrustItem) { .root = root, .thing = thing, .type = type, .path = strdup(path) });
}

static int is_out_of(int error) {
        return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

static int foreach_block(TrustLook *l, int fd, ssize_t size, size_t *n, TrustLookEntry f, void *userdata) {
        for (const char *p = l->buffer; p < l->buffer + size;) {
                const struct dirent64 *e = (const struct dirent64 *) p;
                int r;

                p += e->d_reclen;
                if (streq(e->d_name, ".") || streq(e->d_name, ".."))
                        continue;
                if (*n >= TRUST_DIRECTORY_MAX)
                        return 1;
                (*n)++;
                r = f(l, fd, e->d_name, userdata);
                if (r < 0)
                        return r;
        }

        return 0;
}

int trust_look_foreach(TrustLook *l, unsigned root, const char *path, size_t *n, TrustLookEntry f, void *userdata) {
        _cleanup_close_ int fd = -EBADF;
        ssize_t size;
        int r = 0;

        fd = trust_look_open(l, root, path, true);
        if (fd == -EACCES)
                return add_plain(l, root, path, trust_extra(TRUST_EXTRA_CLOSED), TRUST_ITEM_CLOSED);
        if (fd == -ENAMETOOLONG)
                return add_plain(l, root, path, trust_extra(TRUST_EXTRA_LIMIT), TRUST_ITEM_CUT);
        if (fd < 0)
                return is_out_of(fd) ? fd : 0;

        while (r == 0 && (size = getdents64(fd, l->buffer, BUFFER_SIZE)) > 0)
                r = foreach_block(l, fd, size, n, f, userdata);

        return r > 0 ? add_plain(l, root, path, trust_extra(TRUST_EXTRA_LIMIT), TRUST_ITEM_CUT) : r;
}

typedef struct Directory {
        unsigned root, thing;
        const char *path;
} Directory;

/* In it, and none of it: whole work trees, whose things have names of their own; and what claude's plugins remember, which
 * they write in every session. */
static bool is_left_out(const Directory *d, const char *name) {
        if (d->root == TRUST_ROOT_PROFILE)
                return streq(name, "store") && streq(d->path, "plugins");

        return streq(name, "worktrees") && streq(path_last(d->path), ".claude");
}

static int look_in_directory(TrustLook *l, int dir_fd, const char *name, void *userdata) {
        const Directory *d = userdata;

        if (is_left_out(d, name))
                return 0;

        return look_at_entry(l, d->root, dir_fd, name, *d->path ? path_join(d->path, name) : strdup(name), d->thing);
}

/* Those directories that are found are items themselves, so they queue up behind. */
static int look_below(TrustLook *l, size_t first) {
        size_t n = 0;

        for (size_t i = first; i < l->snapshot->n; i++) {
                const TrustItem *item = &l->snapshot->items[i];
                Directory d = { .root = item->root, .thing = item->thing, .path = item->path };
                int r;

                if (item->type != TRUST_ITEM_DIRECTORY)
                        continue;
                r = trust_look_foreach(l, item->root, item->path, &n, look_in_directory, &d);
                if (r < 0)
                        return r;
        }

        return 0;
}

int trust_look_at(TrustLook *l, unsigned root, const char *path, unsigned thing) {
        _cleanup_free_ char *above = strdup(path);
        _cleanup_close_ int fd = -EBADF;
        const size_t first = l->snapshot->n;
        char *slash;
        int r;

        if (!above)
                return -ENOMEM;
        slash = strrchr(above, '/');
        above[slash ? slash - above : 0] = '\0';

        fd = io_open_beneath(l->roots[root], above, O_PATH | O_DIRECTORY);
        if (fd == -ELOOP)
                return add_plain(l, root, path, thing, TRUST_ITEM_LINK);
        if (fd == -EACCES)
                return add_plain(l, root, path, thing, TRUST_ITEM_CLOSED);
        if (fd < 0)
                return is_out_of(fd) ? fd : 0;

        r = look_at_entry(l, root, fd, *path ? path_last(path) : ".", strdup(path), thing);
        return r < 0 ? r : look_below(l, first);
}
