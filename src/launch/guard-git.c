/* SPDX-License-Identifier: MIT */

/* Guards of git directories: the work root's repository, submodules (below `modules`, nested, with slashes in their names), clones
 * anywhere in the tree, repositories without `.git`, a linked worktree's common directory.
 *
 * Worktrees: the administrative directory of one whose work tree the guest has not got is given as a copy with git's own mark
 * `locked`. To the guest's git such a worktree seems deleted, and its prune and gc would destroy it on the host. */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/git-config.h"
#include "launch/guards.h"

#define GIT_DIRS_MAX 1000
#define INCLUDE_DEPTH_MAX 10 /* as git has it */
#define POINTER_MAX (PATH_MAX + 16)
#define WORKTREES "worktrees"

DEFINE_CLEANUP(DIR *, closedir);

const TrustedThing guard_hooks_path = { TRUST_GIT, "core.hooksPath", TRUST_COPY, true, TRUST_LINK_REFUSED, NULL, "git: programs" };

/* Files that a configuration includes, and its core.attributesFile. */
static const TrustedThing named_file = { TRUST_GIT, "include.path, core.attributesFile", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED,
        NULL, "git: it is part of the configuration" };

static const TrustedThing git_file = { TRUST_TREE, ".git", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, NULL,
        "git: where the repository is" };

static const TrustedThing worktree = { TRUST_GIT, WORKTREES, TRUST_COPY, true, TRUST_LINK_REFUSED, NULL,
        "another worktree of the repository" };

static char *below(const char *dir, const char *name) {
        return *dir == '\0' ? strdup(name) : path_join(dir, name);
}

static DIR *open_directory(const GuardPlace *place, const char *name) {
        _cleanup_close_ int fd = guard_open(place->fd, name), read_fd = -EBADF;
        DIR *d;

        read_fd = fd < 0 ? fd : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        d = read_fd < 0 ? NULL : fdopendir(read_fd);
        if (d)
                read_fd = -EBADF;
        return d;
}

static int guard_things(Plan *p, const GuardPlace *place, const char *git_dir) {
        for (size_t i = 0; i < n_trusted_things; i++) {
                const TrustedThing *thing = &trusted_things[i];
                _cleanup_free_ char *name = NULL;
                int r;

                if (thing->place != TRUST_GIT || thing->treatment == TRUST_REPORT || str_after_prefix(thing->name, WORKTREES))
                        continue;
                name = below(git_dir, thing->name);
                r = name ? guard_entry(p, place, name, thing) : log_oom();
                if (r < 0)
                        return r;
        }

        return 0;
}

/* `a/./b/../c` → `a/c`, in place; what is above the root stays at the root. As text: a link in it is refused where it is used. */
static void path_simplify(char *path) {
        char *out = path;

        for (const char *in = path; *in;) {
                size_t n = strcspn(++in, "/");

                if (n == 2 && in[0] == '.' && in[1] == '.') {
                        while (out > path && *--out != '/')
                                ;
                } else if (n > 0 && !(n == 1 && in[0] == '.')) {
                        *out++ = '/';
                        (void) memmove(out, in, n);
                        out += n;
                }
                in += n;
        }

        *out = '\0';
}

/* "~/…" and "~user/…" of this user: what follows the slash, or NULL. */
static const char *below_home(const char *value) {
        const struct passwd *user = getpwuid(geteuid());
        const char *rest = str_after_prefix(value, "~"), *named;

        named = rest && user ? str_after_prefix(rest, user->pw_name) : NULL;
        if (named && *named == '/')
                return named + 1;
        return rest && *rest == '/' ? rest + 1 : NULL;
}

static int resolve(const Plan *p, const char *value, const char *base, char **ret) {
        const char *rest;

        if (*value == '/')
                *ret = strdup(value);
        else if ((rest = below_home(value)))
                *ret = path_join(p->request->dirs->home, rest);
        else
                *ret = path_join(base, value);
        if (!*ret)
                return -ENOMEM;

        path_simplify(*ret);
        return 0;
}

/* Whether the worktree of an administrative directory lies in the work root: git keeps the path of its `.git` file there, relative to
 * that directory or absolute. */
static bool is_inside(const Plan *p, const GuardPlace *place, const char *admin) {
        _cleanup_free_ char *text = NULL, *base = path_join(place->path, admin), *path = NULL;
        _cleanup_close_ int fd = guard_open(place->fd, admin);

        if (!base || fd < 0 || io_read_file_at(fd, "gitdir", POINTER_MAX, &text, NULL) < 0)
                return false;

        text[strcspn(text, "\n")] = '\0';
        return resolve(p, text, base, &path) >= 0 && path_is_within(path, p->work_root);
}

static int guard_worktrees(Plan *p, const GuardPlace *place, const char *git_dir) {
        _cleanup_free_ char *worktrees = below(git_dir, WORKTREES);
        _cleanup_(closedirp) DIR *d = NULL;
        struct dirent *e;

        if (!worktrees)
                return log_oom();
        d = open_directory(place, worktrees);
        if (!d)
                return errno == ENOENT || errno == ENOTDIR ? 0 : log_error(-errno, "Cannot look at %s/%s", place->path, worktrees);

        while ((e = readdir(d))) {
                _cleanup_free_ char *admin = NULL;
                int r;

                if (streq(e->d_name, ".") || streq(e->d_name, "..") || e->d_type == DT_REG)
                        continue;
                admin = path_join(worktrees, e->d_name);
                if (!admin)
                        return log_oom();

                r = guard_check(place, admin, &worktree);
                if (r > 0)
                        r = is_inside(p, place, admin) ? guard_things(p, place, admin) :
                                guard_with_copy(p, place, admin, true, worktree.why);
                if (r < 0)
                        return r;
        }

        return 0;
}

int guard_named_path(Plan *p, const char *value, const char *base, const TrustedThing *thing) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;
        const char *place = p->work_root, *name;
        int r;

        r = resolve(p, value, base, &path);
        if (r < 0)
                return log_oom();
        name = str_after_prefix(path, place);
        if (!name && p->git_common) {
                place = p->git_common;
                name = str_after_prefix(path, place);
        }
        if (!name || *name != '/' || strv_contains(p->trusted_paths, path))
                return 0;
        if (strv_add(&p->trusted_paths, path) < 0)
                return log_oom();

        fd = io_open_no_links(place);
        if (fd < 0)
                return log_error(fd, "Cannot open %s", place);
        return guard_entry(p, &(GuardPlace) { .fd = fd, .path = place, .target = place }, name + 1, thing);
}

static int guard_config(Plan *p, const char *path, const char *work_tree, unsigned depth);

/* One `key LF value` of a configuration file that lies at `path`. */
static int guard_value(Plan *p, char *entry, const char *path, const char *work_tree, unsigned depth) {
        _cleanup_free_ char *dir = strndup(path, (size_t) (path_last(path) - path)), *included = NULL;
        char *value = strchr(entry, '\n');
        int r;

        if (!dir)
                return log_oom();
        if (!value)
                return 0;
        *value++ = '\0';

        if (streq(entry, "core.hookspath"))
                return guard_named_path(p, value, work_tree, &guard_hooks_path);
        if (streq(entry, "core.attributesfile"))
                return guard_named_path(p, value, work_tree, &named_file);

        r = guard_named_path(p, value, dir, &named_file);
        if (r < 0)
                return r;
        r = resolve(p, value, dir, &included);
        if (r < 0)
                return log_oom();
        return strv_contains(p->trusted_paths, included) ? guard_config(p, included, work_tree, depth + 1) : 0;
}

/* What the configuration file at `path` names by path. */
static int guard_config(Plan *p, const char *path, const char *work_tree, unsigned depth) {
        static const char pattern[] = "^(include\\.path|includeif\\..*\\.path|core\\.(hookspath|attributesfile))$";
        _cleanup_free_ char *text = NULL, *answer = NULL, *shown = NULL;
        _cleanup_close_ int fd = io_open_no_links(path);
        size_t n = 0;
        int r;

        if (fd < 0 || depth > INCLUDE_DEPTH_MAX)
                return 0; /* guarded, or refused, by its name */
        r = io_read_all(fd, GIT_CONFIG_MAX, &text, &n);
        if (r >= 0 && strlen(text) != n)
                r = -EBADMSG; /* a NUL, behind which git may read on */
        if (r >= 0 && !strcasestr(text, "path") && !strcasestr(text, "attributesfile"))
                return 0;

        if (r >= 0)
                r = git_config_ask(text, "--get-regexp", pattern, &answer, &n);
        if (r == 0)
                return 0;
        if (r < 0) {
                shown = str_escape(path);
                return log_error(r, r == -EBADMSG ? "%s is no configuration that git could read. Look at it, and repair it." :
                                "Cannot ask git what %s includes", shown ?: "?");
        }

        for (char *entry = answer, *next; entry < answer + n; entry = next) {
                next = entry + strlen(entry) + 1;
                r = guard_value(p, entry, path, work_tree, depth);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int guard_configs(Plan *p, const char *git_path) {
        static const char *const names[] = { "config", "config.worktree" };
        /* Where relative hooks are looked for: a submodule's own work tree is elsewhere, and then so is nothing of this. */
        _cleanup_free_ char *work_tree = str_has_suffix(git_path, "/.git") ? strndup(git_path, strlen(git_path) - STRLEN("/.git")) :
                strdup(p->work_root);

        if (!work_tree)
                return log_oom();

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *path = path_join(git_path, names[i]);
                int r;

                r = path ? guard_config(p, path, work_tree, 0) : log_oom();
                if (r < 0)
                        return r;
        }

        return 0;
}

/* One git directory, without what is inside of it. */
static int guard_one(Plan *p, const GuardPlace *place, const char *git_dir) {
        _cleanup_free_ char *path = *git_dir == '\0' ? strdup(place->path) : path_join(place->path, git_dir);
        int r;

        if (!path)
                return log_oom();
        if (strv_contains(p->git_dirs, path))
                return 0;
        if (strv_length(p->git_dirs) >= GIT_DIRS_MAX)
                return log_error(-E2BIG, "There are more than %d git directories in %s. Start in a directory below.", GIT_DIRS_MAX,
                                p->work_root);
        if (strv_add(&p->git_dirs, path) < 0)
                return log_oom();

        r = guard_things(p, place, git_dir);
        if (r >= 0)
                r = guard_worktrees(p, place, git_dir);
        return r < 0 ? r : guard_configs(p, path);
}

/* Repositories in one directory of a git directory. */
static int guard_inner(Plan *p, const GuardPlace *place, const char *name) {
        _cleanup_close_ int fd = guard_open(place->fd, name);
        _cleanup_tree_scan_ TreeScan scan = { 0 };
        int r;

        r = fd < 0 ? fd : tree_scan(fd, &scan);
        if (r < 0)
                return log_error(r, "Cannot look for git directories in %s/%s", place->path, name);

        for (size_t i = 0; i < scan.n && r >= 0; i++) {
                _cleanup_free_ char *path = NULL;

                if (scan.found[i].kind != TREE_BARE)
                        continue;
                path = *scan.found[i].path == '\0' ? strdup(name) : path_join(name, scan.found[i].path);
                r = path ? guard_one(p, place, path) : log_oom();
        }

        return r;
}

int guard_git_dir(Plan *p, const GuardPlace *place, const char *git_dir) {
        /* Many directories, and no repository can be there but one that somebody hides from git, too. */
        static const char *const passed_over[] = { ".", "..", "objects", "refs", "logs", "info", "hooks", "lfs", WORKTREES };
        _cleanup_(closedirp) DIR *d = NULL;
        struct dirent *e;
        int r;

        r = guard_one(p, place, git_dir);
        if (r < 0)
                return r;

        d = open_directory(place, git_dir);
        while (d && (e = readdir(d))) {
                _cleanup_free_ char *name = NULL;
                bool passed = e->d_type != DT_DIR && e->d_type != DT_UNKNOWN;

                for (size_t i = 0; i < ELEMENTSOF(passed_over) && !passed; i++)
                        passed = streq(e->d_name, passed_over[i]);
                if (passed)
                        continue;

                name = below(git_dir, e->d_name);
                r = name ? guard_inner(p, place, name) : log_oom();
                if (r < 0)
                        return r;
        }

        return 0;
}

int guard_git_file(Plan *p, const GuardPlace *place, const char *name) {
        return guard_entry(p, place, name, &git_file);
}
