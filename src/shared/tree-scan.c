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
#include "shared/host-trusted.h"
#include "shared/tree-scan.h"

#define BUFFER_SIZE (64 * KIB)

/* Directories that are still to be read, in the order in which they were found. */
typedef struct Queue {
        char **paths;
        size_t first, n, allocated;
} Queue;

typedef struct Scan {
        TreeScan *result;
        Queue queue;
        int root_fd;
        bool links;
        char *buffer;
} Scan;

static int queue_push(Scan *s, char *path) {
        Queue *q = &s->queue;

        if (!path || grow(&q->paths, &q->allocated, q->n + 1, sizeof(char *)) < 0) {
                free(path);
                return -ENOMEM;
        }

        s->result->path_bytes += strlen(path) + 1;
        if (s->result->path_bytes > TREE_PATHS_MAX)
                s->result->cut = true;
        q->paths[q->n++] = path;
        return 0;
}

static char *queue_pop(Scan *s) {
        char *path = TAKE_PTR(s->queue.paths[s->queue.first++]);

        s->result->path_bytes -= strlen(path) + 1;
        return path;
}

static char *below(const char *path, const char *name) {
        return *path == '\0' ? strdup(name) : path_join(path, name);
}

static int add_finding(TreeScan *s, TreeFindingKind kind, unsigned char type, char *path) {
        if (s->n >= TREE_FOUND_MAX) {
                free(path);
                s->cut = true;
                return 0;
        }
        if (!path || grow(&s->found, &s->allocated, s->n + 1, sizeof(TreeFinding)) < 0) {
                free(path);
                return -ENOMEM;
        }

        s->path_bytes += strlen(path) + 1;
        s->found[s->n++] = (TreeFinding) { .kind = kind, .type = type, .path = path };
        return 0;
}

/* Of the entries by which git knows a repository. */
typedef enum BareBit {
        BARE_HEAD = 1 << 0,
        BARE_OBJECTS = 1 << 1,
        BARE_REFS = 1 << 2,
        BARE_COMMONDIR = 1 << 3, /* says where the two before are */
} BareBit;

static unsigned bare_bit(const char *name) {
        if (name[0] == 'H')
                return streq(name, "HEAD") ? BARE_HEAD : 0;
        if (name[0] == 'o')
                return streq(name, "objects") ? BARE_OBJECTS : 0;
        if (name[0] == 'r')
                return streq(name, "refs") ? BARE_REFS : 0;
        if (name[0] == 'c')
                return streq(name, "commondir") ? BARE_COMMONDIR : 0;
        return 0;
}

static bool is_bare(unsigned bits) {
        const unsigned own = BARE_OBJECTS | BARE_REFS;

        return (bits & BARE_HEAD) && ((bits & own) == own || (bits & BARE_COMMONDIR));
}

bool tree_is_repository(int dir_fd) {
        static const char *const names[] = { "HEAD", "objects", "refs", "commondir" };
        unsigned bits = 0;
        struct stat st;

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (fstatat(dir_fd, names[i], &st, AT_SYMLINK_NOFOLLOW) >= 0)
                        bits |= bare_bit(names[i]);

        return is_bare(bits);
}

static unsigned char entry_type(int dir_fd, const struct dirent64 *e) {
        struct stat st;

        if (e->d_type != DT_UNKNOWN)
                return e->d_type;
        return fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? DT_UNKNOWN : IFTODT(st.st_mode);
}

static int scan_entry(Scan *s, int dir_fd, const char *path, const struct dirent64 *e) {
        const char *name = e->d_name;
        unsigned char type;
        int r;

        if (streq(name, ".") || streq(name, ".."))
                return 0;

        s->result->entries++;
        type = entry_type(dir_fd, e);
        if (trust_tree_name(name)) {
                r = add_finding(s->result, TREE_NAMED, type, below(path, name));
                if (r < 0)
                        return r;
        }
        if (type == DT_LNK && s->links)
                return add_finding(s->result, TREE_LINK, type, below(path, name));
        if (type != DT_DIR || streq(name, ".git"))
                return 0;

        return queue_push(s, below(path, name));
}

/* What it costs to open a directory and read it, in lookups: to open and close it costs as much as eight. */
static size_t cost(const char *path) {
        size_t n = 8;

        for (; *path; path++)
                n += *path == '/';
        return n;
}

static int scan_directory(Scan *s, const char *path) {
        _cleanup_close_ int fd = -EBADF;
        unsigned bare = 0;
        ssize_t n;
        int r;

        s->result->lookups += cost(path);
        fd = io_open_beneath(s->root_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (fd == -ENAMETOOLONG || s->result->lookups > TREE_LOOKUPS_MAX)
                s->result->cut = true;
        if (fd == -EACCES)
                return add_finding(s->result, TREE_CLOSED, DT_DIR, strdup(path));
        if (fd < 0)
                return fd == -ENOMEM || fd == -EMFILE || fd == -ENFILE ? fd : 0;

        while ((n = getdents64(fd, s->buffer, BUFFER_SIZE)) > 0) {
                for (const char *p = s->buffer; p < s->buffer + n;) {
                        const struct dirent64 *e = (const struct dirent64 *) p;

                        r = scan_entry(s, fd, path, e);
                        if (r < 0)
                                return r;
                        bare |= bare_bit(e->d_name);
                        p += e->d_reclen;
                }
                if (s->result->entries >= TREE_ENTRIES_MAX)
                        s->result->cut = true;
                if (s->result->cut)
                        break;
        }

        return is_bare(bare) ? add_finding(s->result, TREE_BARE, DT_DIR, strdup(path)) : 0;
}

static int scan_all(int root_fd, bool links, TreeScan *ret) {
        _cleanup_tree_scan_ TreeScan result = { 0 };
        Scan s = { .result = &result, .root_fd = root_fd, .links = links };
        int r;

        s.buffer = malloc(BUFFER_SIZE);
        r = s.buffer ? queue_push(&s, strdup("")) : -ENOMEM;

        while (s.queue.first < s.queue.n) {
                _cleanup_free_ char *path = queue_pop(&s);

                if (r >= 0 && !result.cut)
                        r = scan_directory(&s, path);
        }

        free(s.queue.paths);
        free(s.buffer);
        if (r < 0)
                return r;

        *ret = result;
        result = (TreeScan) { 0 };
        return 0;
}

int tree_scan(int root_fd, TreeScan *ret) {
        return scan_all(root_fd, false, ret);
}

int tree_scan_links(int root_fd, TreeScan *ret) {
        return scan_all(root_fd, true, ret);
}

void tree_scan_clear(TreeScan *s) {
        for (size_t i = 0; i < s->n; i++)
                free(s->found[i].path);
        free(s->found);
        *s = (TreeScan) { 0 };
}
