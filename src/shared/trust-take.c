/* SPDX-License-Identifier: MIT */

/* Which places belong to a snapshot: the rows of `trusted_things`, applied. What a guest cannot change comes first, so that what it
 * can fill up leaves no part of that out. */

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
#include "shared/host-trusted.h"
#include "shared/trust-config.h"
#include "shared/trust-look.h"

#define WORKTREES "worktrees/…"
#define CONFIG ".claude.json"
#define LEGACY_CONFIG ".config.json" /* claude takes it instead where it is there */
#define CONFIG_FILE_MAX (32 * MIB)

#define MODULES "modules"
#define MODULES_DEPTH_MAX 64

static const char *const worktree_files[] = { "gitdir", "commondir", "config.worktree", "rebase-merge/git-rebase-todo" };

static char *below(const char *path, const char *name) {
        return *path ? path_join(path, name) : strdup(name);
}

static int look_below(TrustLook *l, unsigned root, const char *dir, const char *name, unsigned thing) {
        _cleanup_free_ char *path = below(dir, name);

        return path ? trust_look_at(l, root, path, thing) : -ENOMEM;
}

static int collect_name(TrustLook *l, int dir_fd, const char *name, void *userdata) {
        return strv_add(userdata, name);
}

static int look_at_modules(TrustLook *l, unsigned root, const char *dir, unsigned depth, size_t *n);

/* The repository of a submodule, or a directory of some: a name may have slashes. */
static int look_at_module(TrustLook *l, unsigned root, const char *path, unsigned depth, size_t *n) {
        _cleanup_free_ char *full = path_join(trust_scope_root(l->scope, root), path), *modules = path_join(path, MODULES);
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r = 0;

        if (!full || !modules)
                return -ENOMEM;
        fd = io_open_beneath(l->roots[root], path, O_PATH | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, &st) < 0)
                return 0;
        if (S_ISLNK(st.st_mode)) /* git goes through it */
                return trust_look_at(l, root, path, trust_extra(TRUST_EXTRA_BARE));
        if (!S_ISDIR(st.st_mode))
                return 0;
        if (!tree_is_repository(fd))
                return look_at_modules(l, root, path, depth, n);

        if (!strv_contains(l->scope->git_dirs, full))
                r = trust_snapshot_add(l->snapshot, &(TrustItem) { .root = root, .thing = trust_extra(TRUST_EXTRA_BARE),
                                .type = TRUST_ITEM_REPOSITORY, .path = strdup(path) });
        return r < 0 ? r : look_at_module(l, root, modules, depth + 1, n);
}

static int look_at_modules(TrustLook *l, unsigned root, const char *dir, unsigned depth, size_t *n) {
        _cleanup_strv_ char **names = NULL;
        int r;

        if (depth >= MODULES_DEPTH_MAX)
                return trust_snapshot_add(l->snapshot, &(TrustItem) { .root = root, .thing = trust_extra(TRUST_EXTRA_LIMIT),
                                .type = TRUST_ITEM_CUT, .path = strdup(dir) });

        r = trust_look_foreach(l, root, dir, n, collect_name, &names);
        STRV_FOREACH(name, names) {
                _cleanup_free_ char *path = r >= 0 ? path_join(dir, *name) : NULL;

                if (!path)
                        return r < 0 ? r : -ENOMEM;
                r = look_at_module(l, root, path, depth + 1, n);
        }

        return r;
}

/* git uses what lies there as soon as a submodule of that name is checked out or fetched; a guest can be the first to put it there. */
static int look_at_submodules(TrustLook *l, unsigned root, const char *git_dir) {
        _cleanup_free_ char *modules = below(git_dir, MODULES);
        size_t n = 0;

        return modules ? look_at_module(l, root, modules, 0, &n) : -ENOMEM;
}

/* Pointers of the worktrees that were there before: a new one's `.git` file is reported where it lies. */
static int look_at_worktrees(TrustLook *l, unsigned root, const char *git_dir, unsigned thing) {
        _cleanup_free_ char *path = below(git_dir, "worktrees");
        _cleanup_strv_ char **names = NULL;
        size_t n = 0;
        int r;

        r = path ? trust_look_foreach(l, root, path, &n, collect_name, &names) : -ENOMEM;
        STRV_FOREACH(name, names) {
                _cleanup_free_ char *dir = r >= 0 ? path_join(path, *name) : NULL;

                if (!dir)
                        return r < 0 ? r : -ENOMEM;
                if (l->before && !trust_snapshot_find(l->before, root, dir, false))
                        continue;
                r = trust_snapshot_add(l->snapshot, &(TrustItem) {
                                .root = root, .thing = thing, .type = TRUST_ITEM_DIRECTORY, .path = strdup(dir) });
                for (size_t i = 0; i < ELEMENTSOF(worktree_files) && r >= 0; i++)
                        r = look_below(l, root, dir, worktree_files[i], thing);
                if (r >= 0)
                        r = look_at_submodules(l, root, dir);
        }

        return r;
}

/* All rows of `place`, below the directory `dir`. */
static int look_at_place(TrustLook *l, TrustPlace place, bool reported, unsigned root, const char *dir) {
        int r = 0;

        for (unsigned i = 0; i < n_trusted_things && r >= 0; i++) {
                const TrustedThing *t = &trusted_things[i];

                if (t->place != place || (t->treatment == TRUST_REPORT) != reported)
                        continue;
                r = streq(t->name, WORKTREES) ? look_at_worktrees(l, root, dir, i) : look_below(l, root, dir, t->name, i);
        }

        return r;
}

/* A path that the launcher names. One that no guest can reach needs no look. */
static int look_at_named(TrustLook *l, const char *name, unsigned thing) {
        _cleanup_free_ char *full = name[0] == '/' ? strdup(name) : path_join(l->scope->work_root, name);
        const char *path;
        unsigned root;

        if (!full)
                return -ENOMEM;
        if (!path_is_normalized(full) || !trust_scope_locate(l->scope, full, &root, &path) || l->roots[root] < 0)
                return 0;

        return trust_look_at(l, root, path, thing);
}

static int look_at_git_dirs(TrustLook *l, bool reported) {
        int r = 0;

        STRV_FOREACH(dir, l->scope->git_dirs) {
                const char *path;
                unsigned root;

                if (trust_scope_locate(l->scope, *dir, &root, &path) && l->roots[root] >= 0) {
                        r = look_at_place(l, TRUST_GIT, reported, root, path);
                        if (r >= 0 && !reported)
                                r = look_at_submodules(l, root, path);
                }
                if (r < 0)
                        return r;
        }

        return r;
}

static int look_at_work(TrustLook *l, bool reported) {
        const char *path;
        unsigned root;
        int r;

        r = look_at_place(l, TRUST_WORK, reported, TRUST_ROOT_WORK, "");
        if (r >= 0 && !streq(l->scope->directory, l->scope->work_root) &&
                        trust_scope_locate(l->scope, l->scope->directory, &root, &path))
                r = look_at_place(l, TRUST_WORK, reported, root, path);
        return r;
}

static int look_at_config_file(TrustLook *l, const char *name, bool legacy) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n = 0;
        int r;

        fd = trust_look_open(l, TRUST_ROOT_PROFILE, name, false);
        r = fd < 0 ? fd : io_read_all(fd, CONFIG_FILE_MAX, &text, &n);
        if (r == -ENOENT || r == -ENOMEM)
                return r == -ENOENT ? 0 : r;
        if (r < 0) /* a link, a FIFO, too large: as other things */
                return trust_look_at(l, TRUST_ROOT_PROFILE, name, trust_extra(TRUST_EXTRA_CONFIG));

        if (legacy) /* that it is there matters */
                r = trust_snapshot_add(l->snapshot, &(TrustItem) { .root = TRUST_ROOT_PROFILE, .type = TRUST_ITEM_FACT,
                                .thing = trust_extra(TRUST_EXTRA_CONFIG), .path = strdup(LEGACY_CONFIG ": in place of " CONFIG) });
        return r < 0 ? r : trust_config_facts(text, n, name, l->scope, l->snapshot);
}

static int look_at_repository(TrustLook *l, const char *path, bool bare, bool reported) {
        _cleanup_free_ char *full = path_join(l->scope->work_root, path);
        int r = 0;

        if (!full)
                return -ENOMEM;
        if (strv_contains(l->scope->git_dirs, full))
                return 0;
        if (bare && !reported)
                r = trust_snapshot_add(l->snapshot, &(TrustItem) { .root = TRUST_ROOT_WORK, .thing = trust_extra(TRUST_EXTRA_BARE),
                                .type = TRUST_ITEM_REPOSITORY, .path = strdup(path) });

        /* What is in a new one does not matter: that it is there does. */
        if (r >= 0 && l->before) {
                const TrustItem *old = trust_snapshot_find(l->before, TRUST_ROOT_WORK, path, false);

                if (!old || old->type != TRUST_ITEM_REPOSITORY)
                        return 0;
        }

        return r < 0 ? r : look_at_place(l, TRUST_GIT, reported, TRUST_ROOT_WORK, path);
}

/* Those rows of TRUST_TREE that begin with the name which the scan found. Of a link counts where it leads, also when what the row names
 * lies behind it. */
static int look_at_named_finding(TrustLook *l, const char *path, bool link) {
        const char *name = path_last(path);
        int r = 0;

        for (unsigned i = 0; i < n_trusted_things && r >= 0; i++) {
                const char *rest = trusted_things[i].place == TRUST_TREE ? str_after_prefix(trusted_things[i].name, name) : NULL;

                if (!rest || (*rest != '\0' && *rest != '/'))
                        continue;
                r = *rest && !link ? look_below(l, TRUST_ROOT_WORK, path, rest + 1, i) : trust_look_at(l, TRUST_ROOT_WORK, path, i);
        }

        return r;
}

static int look_at_tree(TrustLook *l, const TreeScan *tree, bool reported) {
        int r = 0;

        for (size_t i = 0; i < tree->n && r >= 0; i++) {
                const TreeFinding *f = &tree->found[i];

                if (f->kind == TREE_CLOSED) {
                        if (reported)
                                r = trust_snapshot_add(l->snapshot, &(TrustItem) { .root = TRUST_ROOT_WORK,
                                                .thing = trust_extra(TRUST_EXTRA_CLOSED), .type = TRUST_ITEM_CLOSED,
                                                .path = strdup(f->path) });
                        continue;
                }
                if (f->kind == TREE_BARE || (f->type == DT_DIR && streq(path_last(f->path), ".git")))
                        r = look_at_repository(l, f->path, f->kind == TREE_BARE, reported);
                if (r >= 0 && f->kind == TREE_NAMED && reported)
                        r = look_at_named_finding(l, f->path, f->type == DT_LNK);
        }
        if (r >= 0 && tree->cut && reported)
                r = trust_snapshot_add(l->snapshot, &(TrustItem) { .root = TRUST_ROOT_WORK, .thing = trust_extra(TRUST_EXTRA_LIMIT),
                                .type = TRUST_ITEM_CUT, .path = strdup("") });

        return r;
}

/* claude writes transcripts, history and logins into the profile all the time. Behind a link of a guest's they would land anywhere, with
 * words in them that are the guest's: in ~/.bashrc.d, say. The one link that claude makes it also replaces. */
static int look_at_links(TrustLook *l) {
        _cleanup_tree_scan_ TreeScan scan = { 0 };
        int r;

        r = tree_scan_links(l->roots[TRUST_ROOT_PROFILE], &scan);
        for (size_t i = 0; i < scan.n && r >= 0; i++)
                if (scan.found[i].kind == TREE_LINK && !streq(scan.found[i].path, "debug/latest"))
                        r = trust_look_at(l, TRUST_ROOT_PROFILE, scan.found[i].path, trust_extra(TRUST_EXTRA_LINK));
        if (r >= 0 && scan.cut)
                r = trust_snapshot_add(l->snapshot, &(TrustItem) { .root = TRUST_ROOT_PROFILE, .thing = trust_extra(TRUST_EXTRA_LIMIT),
                                .type = TRUST_ITEM_CUT, .path = strdup("") });

        return r;
}

static int look_at_all(TrustLook *l, const TreeScan *tree) {
        int r;

        r = look_at_config_file(l, CONFIG, false);
        if (r >= 0)
                r = look_at_config_file(l, LEGACY_CONFIG, true);
        STRV_FOREACH(path, l->scope->trusted_paths)
                if (r >= 0)
                        r = look_at_named(l, *path, trust_extra(TRUST_EXTRA_NAMED));
        for (unsigned reported = 0; reported < 2 && r >= 0; reported++) {
                r = look_at_place(l, TRUST_PROFILE, reported, TRUST_ROOT_PROFILE, "");
                if (r >= 0)
                        r = look_at_git_dirs(l, reported);
                if (r >= 0)
                        r = look_at_work(l, reported);
                if (r >= 0)
                        r = look_at_tree(l, tree, reported);
        }
        STRV_FOREACH(path, l->scope->report_paths)
                if (r >= 0)
                        r = look_at_named(l, *path, trust_extra(TRUST_EXTRA_REPORT_PATH));
        if (r >= 0)
                r = look_at_links(l);

        return r;
}

int trust_snapshot_take(const TrustScope *scope, const TreeScan *tree, const TrustSnapshot *before, TrustSnapshot *ret) {
        _cleanup_trust_snapshot_ TrustSnapshot snapshot = { 0 };
        _cleanup_trust_look_ TrustLook l = { .scope = scope, .before = before, .snapshot = &snapshot };
        _cleanup_tree_scan_ TreeScan own = { 0 };
        int r;

        r = trust_look_begin(&l);
        if (r >= 0 && !tree) {
                r = tree_scan(l.roots[TRUST_ROOT_WORK], &own);
                tree = &own;
        }
        if (r >= 0)
                r = look_at_all(&l, tree);
        if (r < 0)
                return r;

        trust_snapshot_sort(&snapshot);
        *ret = snapshot;
        snapshot = (TrustSnapshot) { 0 };
        return 0;
}
