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
#define PROGRAMS_MAX 1000
#define POINTER_MAX (PATH_MAX + 16)
#define WORKTREES "worktrees"
#define MODULES "modules"

DEFINE_CLEANUP(DIR *, closedir);

const TrustedThing guard_hooks_path = { TRUST_GIT, "core.hooksPath", TRUST_COPY, true, TRUST_LINK_REFUSED, NULL, "git: programs" };

/* Files that a configuration includes, and its core.attributesFile. */
static const TrustedThing named_file = { TRUST_GIT, "include.path, core.attributesFile", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED,
        NULL, "git: it is part of the configuration" };

static const TrustedThing git_file = { TRUST_TREE, ".git", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, NULL,
        "git: where the repository is" };

static const TrustedThing worktree = { TRUST_GIT, WORKTREES, TRUST_COPY, true, TRUST_LINK_REFUSED, NULL,
        "another worktree of the repository" };

/* Behind a link of the guest's nothing would be guarded. */
static const TrustedThing submodules = { TRUST_GIT, MODULES, TRUST_COPY, true, TRUST_LINK_REFUSED, NULL,
        "git: the repositories of submodules" };

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

/* The work tree of a worktree's administrative directory, if it lies in the work root: git keeps the path of its `.git` file there,
 * relative to that directory or absolute. Else NULL. */
static char *work_tree_inside(const Plan *p, const GuardPlace *place, const char *admin) {
        _cleanup_free_ char *text = NULL, *base = path_join(place->path, admin), *path = NULL;
        _cleanup_close_ int fd = guard_open(place->fd, admin);

        if (!base || fd < 0 || io_read_file_at(fd, "gitdir", POINTER_MAX, &text, NULL) < 0)
                return NULL;

        text[strcspn(text, "\n")] = '\0';
        if (resolve(p, text, base, &path) < 0 || !path_is_within(path, p->work_root))
                return NULL;
        return strndup(path, (size_t) (path_last(path) - path) - (path_last(path) > path + 1));
}

static int guard_config(Plan *p, const char *path, char **work_trees, unsigned depth);
static int guard_inner(Plan *p, const GuardPlace *place, const char *name);

/* Its own configuration, and the repositories of its submodules, which are no other worktree's. */
static int guard_near_worktree(Plan *p, const GuardPlace *place, const char *admin, char *work_tree) {
        _cleanup_free_ char *modules = path_join(admin, MODULES), *dir = path_join(place->path, admin), *config = NULL;
        int r;

        config = dir ? path_join(dir, "config.worktree") : NULL;
        if (!modules || !config)
                return log_oom();

        r = guard_things(p, place, admin);
        if (r >= 0)
                r = guard_config(p, config, (char *[]) { work_tree, NULL }, 0);
        if (r >= 0)
                r = guard_check(place, modules, &submodules);
        return r > 0 ? guard_inner(p, place, modules) : r;
}

static int guard_worktree(Plan *p, const GuardPlace *place, const char *admin, char ***work_trees) {
        _cleanup_free_ char *work_tree = NULL;
        int r;

        r = guard_check(place, admin, &worktree);
        if (r <= 0)
                return r;

        work_tree = work_tree_inside(p, place, admin);
        if (!work_tree)
                return guard_with_copy(p, place, admin, true, worktree.why);
        if (strv_add(work_trees, work_tree) < 0)
                return log_oom();
        return guard_near_worktree(p, place, admin, work_tree);
}

static int guard_worktrees(Plan *p, const GuardPlace *place, const char *git_dir, char ***work_trees) {
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
                r = admin ? guard_worktree(p, place, admin, work_trees) : log_oom();
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

static int note_program(Plan *p, const char *path) {
        if (streq(path, p->work_root) || strv_contains(p->named_programs, path))
                return 0;
        if (strv_length(p->named_programs) >= PROGRAMS_MAX)
                return log_error(-E2BIG, "git's configuration names more than %d programs in the work tree. Look at it, and repair it.", PROGRAMS_MAX);

        return strv_add(&p->named_programs, path) < 0 ? log_oom() : 0;
}

/* A command line of git's configuration: git runs it in the work tree, and what it names there is one more thing that the guest can
 * write. An agent may have to, so it is reported. */
static int note_programs(Plan *p, const char *command, char **work_trees) {
        static const char separators[] = " \t\n\"'`$()<>=;|&!";

        while (*(command += strspn(command, separators))) {
                const size_t n = strcspn(command, separators);
                _cleanup_free_ char *word = strndup(command, n);

                if (!word)
                        return log_oom();
                command += n;
                STRV_FOREACH(work_tree, strchr(word, '/') ? work_trees : NULL) {
                        _cleanup_free_ char *path = NULL;
                        int r;

                        if (resolve(p, word, *work_tree, &path) < 0)
                                return log_oom();
                        r = path_is_within(path, p->work_root) && utf8_is_valid(path, strlen(path)) ? note_program(p, path) : 0;
                        if (r < 0)
                                return r;
                }
        }

        return 0;
}

/* One `key LF value` of a configuration file that lies at `path`. */
static int guard_value(Plan *p, char *entry, const char *path, char **work_trees, unsigned depth) {
        _cleanup_free_ char *dir = strndup(path, (size_t) (path_last(path) - path)), *included = NULL;
        char *value = strchr(entry, '\n');
        int r = 0;

        if (!dir)
                return log_oom();
        if (!value)
                return 0;
        *value++ = '\0';

        if (!str_has_suffix(entry, ".path") && !streq(entry, "core.hookspath") && !streq(entry, "core.attributesfile"))
                return note_programs(p, value, work_trees);
        if (!str_has_suffix(entry, ".path")) {
                STRV_FOREACH(work_tree, work_trees)
                        if (r >= 0)
                                r = guard_named_path(p, value, *work_tree,
                                                streq(entry, "core.hookspath") ? &guard_hooks_path : &named_file);
                return r;
        }

        r = guard_named_path(p, value, dir, &named_file);
        if (r < 0)
                return r;
        r = resolve(p, value, dir, &included);
        if (r < 0)
                return log_oom();
        return strv_contains(p->trusted_paths, included) ? guard_config(p, included, work_trees, depth + 1) : 0;
}

/* Whether some key of what guard_config() asks git for can be in that text: to ask takes milliseconds. */
static bool may_name_paths(const char *text) {
        static const char *const words[] = { "path", "attributesfile", "fsmonitor", "command", "editor", "pager", "askpass", "proxy", "clean",
                "smudge", "process", "textconv", "external", "driver", "program", "helper", "alias", "cmd", "uploadpack", "receivepack" };

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (strcasestr(text, words[i]))
                        return true;

        return false;
}

/* What the configuration file at `path` names by path; what is relative, in each of the work trees. */
static int guard_config(Plan *p, const char *path, char **work_trees, unsigned depth) {
        static const char pattern[] = "^(include\\.path|includeif\\..*\\.path|core\\.(hookspath|attributesfile)|"
                "core\\.(fsmonitor|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)|sequence\\.editor|pager\\..*|alias\\..*|"
                "filter\\..*\\.(clean|smudge|process)|diff\\.external|diff\\..*\\.(textconv|command)|merge\\..*\\.driver|"
                "interactive\\.difffilter|gpg\\.program|gpg\\..*\\.(program|defaultkeycommand)|credential\\.(.*\\.)?helper|"
                "(difftool|mergetool|browser|man)\\..*\\.cmd|trailer\\..*\\.(command|cmd)|remote\\..*\\.(uploadpack|receivepack|proxy)|"
                "uploadpack\\.packobjectshook|submodule\\..*\\.update)$";
        _cleanup_free_ char *text = NULL, *answer = NULL, *shown = NULL;
        _cleanup_close_ int fd = io_open_no_links(path);
        size_t n = 0;
        int r;

        if (fd < 0 || depth > INCLUDE_DEPTH_MAX)
                return 0; /* guarded, or refused, by its name */
        r = io_read_all(fd, GIT_CONFIG_MAX, &text, &n);
        if (r >= 0 && strlen(text) != n)
                r = -EBADMSG; /* a NUL, behind which git may read on */
        if (r >= 0 && !may_name_paths(text))
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
                r = guard_value(p, entry, path, work_trees, depth);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* The work tree of a git directory itself: core.worktree says where a submodule's is. A repository without one has its hooks relative
 * to itself. */
static int add_own_work_tree(const Plan *p, const char *git_path, char ***work_trees) {
        _cleanup_free_ char *text = NULL, *answer = NULL, *work_tree = NULL, *config = path_join(git_path, "config");
        _cleanup_close_ int fd = config ? io_open_no_links(config) : -ENOMEM;
        size_t n;
        int r = 0;

        if (str_has_suffix(git_path, "/.git"))
                work_tree = strndup(git_path, strlen(git_path) - STRLEN("/.git"));
        else {
                /* What git cannot read stops the launch in guard_config(), or tells git nothing either. */
                if (fd >= 0 && io_read_all(fd, GIT_CONFIG_MAX, &text, &n) >= 0 && strcasestr(text, "worktree"))
                        r = git_config_ask(text, "--get", "core.worktree", &answer, &n);
                r = r > 0 ? resolve(p, answer, git_path, &work_tree) : strdup_to(&work_tree, git_path);
        }

        return r < 0 || !work_tree || strv_add(work_trees, work_tree) < 0 ? log_oom() : 0;
}

static int guard_configs(Plan *p, const char *git_path, char **work_trees) {
        static const char *const names[] = { "config", "config.worktree" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_free_ char *path = path_join(git_path, names[i]);
                int r;

                r = path ? guard_config(p, path, work_trees, 0) : log_oom();
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Whether what was found at `path`, in a search below `base`, is of a worktree of a repository that was found before:
 * guard_worktrees() has seen to it. */
static bool is_of_worktree(const Plan *p, const char *base, const char *path) {
        STRV_FOREACH(dir, p->git_dirs) {
                const char *rest = path_is_within(*dir, base) ? str_after_prefix(path, *dir) : NULL;

                if (rest && str_after_prefix(rest, "/" WORKTREES "/"))
                        return true;
        }

        return false;
}

/* One git directory, without what is inside of it. */
static int guard_one(Plan *p, const GuardPlace *place, const char *git_dir) {
        _cleanup_free_ char *path = *git_dir == '\0' ? strdup(place->path) : path_join(place->path, git_dir);
        _cleanup_free_ char *modules = below(git_dir, MODULES);
        _cleanup_strv_ char **work_trees = NULL;
        int r;

        if (!path || !modules)
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
                r = guard_check(place, modules, &submodules);
        if (r >= 0)
                r = guard_worktrees(p, place, git_dir, &work_trees);
        if (r >= 0)
                r = add_own_work_tree(p, path, &work_trees);
        return r < 0 ? r : guard_configs(p, path, work_trees);
}

/* Repositories in one directory of a git directory. */
static int guard_inner(Plan *p, const GuardPlace *place, const char *name) {
        _cleanup_free_ char *base = path_join(place->path, name);
        _cleanup_close_ int fd = guard_open(place->fd, name);
        _cleanup_tree_scan_ TreeScan scan = { 0 };
        int r;

        if (!base)
                return log_oom();
        r = fd < 0 ? fd : tree_scan(fd, &scan);
        if (r < 0)
                return log_error(r, "Cannot look for git directories in %s", base);

        for (size_t i = 0; i < scan.n && r >= 0; i++) {
                _cleanup_free_ char *path = NULL, *full = NULL;

                if (scan.found[i].kind != TREE_BARE)
                        continue;
                path = *scan.found[i].path == '\0' ? strdup(name) : path_join(name, scan.found[i].path);
                full = path ? path_join(place->path, path) : NULL;
                if (!full)
                        return log_oom();
                if (!is_of_worktree(p, base, full))
                        r = guard_one(p, place, path);
        }

        return r;
}

int guard_git_dir(Plan *p, const GuardPlace *place, const char *git_dir) {
        /* Many directories, and no repository can be there but one that somebody hides from git, too. */
        static const char *const passed_over[] = { ".", "..", "objects", "refs", "logs", "info", "hooks", "lfs", WORKTREES };
        _cleanup_(closedirp) DIR *d = NULL;
        _cleanup_free_ char *path = path_join(place->path, git_dir);
        struct dirent *e;
        int r;

        if (!path)
                return log_oom();
        if (!streq(path_last(git_dir), ".git") && is_of_worktree(p, place->path, path))
                return 0;
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
