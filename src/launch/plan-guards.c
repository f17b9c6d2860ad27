/* SPDX-License-Identifier: MIT */

/* What lies over host-trusted files while the guest runs. shared/host-trusted.c says what they are and how each is treated; here it
 * is found out where they are in this work root and profile, and planned as mounts:
 *
 *   read-only   the entry bound over itself
 *   a copy      made in the launch directory: two launches never share one
 *   a pin       a directory above a guarded entry, bound over itself. A mount keeps its own entry from being renamed, but not the
 *               directories above: `mv .git .git.old && cp -r .git.old .git` would give the guest an unguarded one. Renaming a mount
 *               point fails with EBUSY
 *
 * A guard sits on a name; a link of that name leads crun, and the host, elsewhere. In the profile, where only claude and this
 * program put files, links are replaced; elsewhere they stop the launch. So does a second name of the same file (a hard link), by
 * which the guest could write it. Whether all guards really are where they should be is seen before the guest starts
 * (mount-check.c), and the supervisor looks after them from then on. */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/guards.h"

#define COPY_MAX (16 * MIB)
#define GUARDS_MAX 5000

int guard_open(int dir_fd, const char *name) {
        return io_open_beneath(dir_fd, name, O_PATH | O_NOFOLLOW);
}

/* crun, D-Bus and json-c take UTF-8 only. */
static int check_name(const char *path) {
        _cleanup_free_ char *shown = NULL;

        if (utf8_is_valid(path, strlen(path)) && mount_path_is_expressible(path))
                return 0;

        shown = str_escape(path);
        return log_error(-EILSEQ, "%s must be guarded, and its name is not UTF-8 or holds a carriage return before a newline, which "
                        "a container's configuration cannot hold. Rename it.", shown ?: "?");
}

static int add_guard(Plan *p, const Guard *g, const char *why) {
        int r;

        r = check_name(g->path);
        if (r < 0)
                return r;
        if (p->guards.n >= GUARDS_MAX)
                return log_error(-E2BIG, "There are more than %d files and directories to guard in %s: too many git directories. "
                                "Start in a directory below.", GUARDS_MAX, p->work_root);

        r = plan_add_mount(p, MOUNT_BIND, g->source, g->target, MOUNT_GUARD | (g->read_only ? MOUNT_READ_ONLY : 0), why);
        if (r >= 0)
                r = guard_list_add(&p->guards, g);
        return r < 0 ? log_oom() : 0;
}

static bool is_guarded(const Plan *p, const char *target) {
        for (size_t i = 0; i < p->guards.n; i++)
                if (streq(p->guards.guards[i].target, target))
                        return true;

        return false;
}

/* Every directory between the place and `name`. */
static int pin_parents(Plan *p, const GuardPlace *place, const char *name) {
        for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
                _cleanup_free_ char *part = strndup(name, (size_t) (slash - name)), *path = NULL, *target = NULL;
                int r;

                path = part ? path_join(place->path, part) : NULL;
                target = part ? path_join(place->target, part) : NULL;
                if (!path || !target)
                        return log_oom();
                if (is_guarded(p, target))
                        continue;

                r = add_guard(p, &(Guard) { .path = path, .source = path, .target = target, .pin = true },
                                "so that it stays where it is");
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Over the entry `name` lies `source`, or itself. */
static int guard(Plan *p, const GuardPlace *place, const char *name, const char *source, bool read_only, const char *why) {
        _cleanup_free_ char *path = path_join(place->path, name), *target = path_join(place->target, name);
        int r;

        if (!path || !target)
                return log_oom();
        if (is_guarded(p, target))
                return 0;

        r = pin_parents(p, place, name);
        if (r < 0)
                return r;
        return add_guard(p, &(Guard) { .path = path, .source = (char *) (source ?: path), .target = target, .read_only = read_only },
                        why);
}

/* A name in the launch directory that no other guard has, and its path. In the part that the guest sees, read-only, as a whole: podman
 * gives only what it mounts itself the label that SELinux wants. */
static int own_name(const Plan *p, char **ret_name, char **ret_path) {
        int r;

        r = asprintf_to(ret_name, "guest/guard-%zu", p->guards.n);
        if (r >= 0) {
                *ret_path = path_join(p->launch_path, *ret_name);
                r = *ret_path ? 0 : -ENOMEM;
        }

        return r < 0 ? log_oom() : 0;
}

int guard_with_copy(Plan *p, const GuardPlace *place, const char *name, bool locked, const char *why) {
        _cleanup_free_ char *own = NULL, *own_path = NULL, *source = path_join(place->path, name);
        int r;

        r = source ? own_name(p, &own, &own_path) : log_oom();
        if (r < 0)
                return r;
        if (plan_add_tree(p, own, source, locked) < 0)
                return log_oom();

        return guard(p, place, name, own_path, false, why);
}

static int guard_with_empty(Plan *p, const GuardPlace *place, const char *name, const char *why) {
        _cleanup_free_ char *own = NULL, *own_path = NULL;
        int r;

        r = own_name(p, &own, &own_path);
        if (r < 0)
                return r;
        if (plan_add_tree(p, own, NULL, false) < 0)
                return log_oom();

        return guard(p, place, name, own_path, false, why);
}

int guard_with_data(Plan *p, const GuardPlace *place, const char *name, char *data, size_t n, const char *why) {
        _cleanup_free_ char *own = NULL, *own_path = NULL;
        int r;

        r = own_name(p, &own, &own_path);
        if (r < 0) {
                free(data);
                return r;
        }
        if (plan_add_file(p, own, data, n) < 0)
                return log_oom();

        return guard(p, place, name, own_path, false, why);
}

int guard_read(const GuardPlace *place, const char *name, char **ret, size_t *ret_n) {
        _cleanup_free_ char *shown = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        fd = io_open_beneath(place->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 || fstat(fd, &st) < 0)
                r = fd < 0 ? fd : -errno;
        else
                r = S_ISREG(st.st_mode) ? io_read_all(fd, COPY_MAX, ret, ret_n) : -ENOTREG;
        if (r >= 0)
                return 0;

        shown = str_escape(name);
        return log_error(r, "Cannot read %s/%s", place->path, shown ?: "?");
}

static int guard_with_file_copy(Plan *p, const GuardPlace *place, const char *name, const char *why) {
        char *data;
        size_t n;
        int r;

        r = guard_read(place, name, &data, &n);
        return r < 0 ? r : guard_with_data(p, place, name, data, n, why);
}

static int say_link(const GuardPlace *place, const char *name) {
        _cleanup_free_ char *shown = str_escape(name);

        return log_error(-ELOOP, "%s/%s is, or lies behind, a symbolic link, which a sandbox could have put there, and it must be "
                        "guarded. Replace the link by what it names.", place->path, shown ?: "?");
}

/* Of the kind that it should be, and with no other name: 1. */
static int check_kind(const GuardPlace *place, const char *name, const TrustedThing *thing, const struct stat *st) {
        _cleanup_free_ char *shown = str_escape(name);

        if (thing->directory ? !S_ISDIR(st->st_mode) : !S_ISREG(st->st_mode))
                return log_error(-EINVAL, "%s/%s is no %s, and it must be guarded. Remove it.", place->path, shown ?: "?",
                                thing->directory ? "directory" : "file");
        if (S_ISREG(st->st_mode) && st->st_nlink > 1)
                return log_error(-EMLINK, "%s/%s has another name (a hard link), by which a sandbox could write it. Give it a file of "
                                "its own: cp it to another name, and mv that over it.", place->path, shown ?: "?");
        return 1;
}

int guard_check(const GuardPlace *place, const char *name, const TrustedThing *thing) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        fd = guard_open(place->fd, name);
        if (fd == -ENOENT || fd == -ENOTDIR)
                return 0;
        if (fd == -ELOOP)
                return thing->link == TRUST_LINK_LEFT ? 0 : say_link(place, name);
        if (fd < 0 || fstat(fd, &st) < 0)
                return log_error(fd < 0 ? fd : -errno, "Cannot look at %s/%s", place->path, thing->name);

        if (S_ISLNK(st.st_mode))
                return thing->link == TRUST_LINK_LEFT ? 0 : say_link(place, name);
        return check_kind(place, name, thing, &st);
}

int guard_apply(Plan *p, const GuardPlace *place, const char *name, const TrustedThing *thing) {
        switch (thing->treatment) {
        case TRUST_READ_ONLY:
                return guard(p, place, name, NULL, true, thing->why);
        case TRUST_COPY:
                return thing->directory ? guard_with_copy(p, place, name, false, thing->why) :
                        guard_with_file_copy(p, place, name, thing->why);
        case TRUST_EMPTY:
                return guard_with_empty(p, place, name, thing->why);
        default:
                return 0;
        }
}

int guard_entry(Plan *p, const GuardPlace *place, const char *name, const TrustedThing *thing) {
        int r;

        r = guard_check(place, name, thing);
        return r <= 0 ? r : guard_apply(p, place, name, thing);
}

static int guard_git(Plan *p, const GuardPlace *root) {
        for (size_t i = 0; i < p->tree.n; i++) {
                const TreeFinding *f = &p->tree.found[i];
                int r = 0;

                if (f->kind == TREE_BARE)
                        r = guard_git_dir(p, root, f->path);
                else if (streq(path_last(f->path), ".git") && S_ISDIR(DTTOIF(f->type)))
                        r = guard_git_dir(p, root, f->path);
                else if (streq(path_last(f->path), ".git") && S_ISREG(DTTOIF(f->type)))
                        r = guard_git_file(p, root, f->path);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* At the work root, and where the launch starts. */
static int guard_work(Plan *p, const GuardPlace *root) {
        const char *below = str_after_prefix(p->directory, p->work_root);

        if (below && *below == '/')
                below++;

        for (size_t i = 0; i < n_trusted_things; i++) {
                const TrustedThing *thing = &trusted_things[i];
                _cleanup_free_ char *name = NULL;
                int r;

                if (thing->place != TRUST_WORK)
                        continue;
                r = guard_entry(p, root, thing->name, thing);
                if (r < 0 || str_is_empty(below))
                        return r;

                name = path_join(below, thing->name);
                r = name ? guard_entry(p, root, name, thing) : log_oom();
                if (r < 0)
                        return r;
        }

        return 0;
}

static int guard_place(Plan *p, const char *path, int (*f)(Plan *p, const GuardPlace *place)) {
        _cleanup_close_ int fd = -EBADF;

        fd = io_open_no_links(path);
        if (fd < 0)
                return log_error(fd, "Cannot open %s", path);

        return f(p, &(GuardPlace) { .fd = fd, .path = path, .target = path });
}

static int guard_root(Plan *p, const GuardPlace *root) {
        int r;

        r = tree_scan(root->fd, &p->tree);
        if (r < 0)
                return log_error(r, "Cannot look for git directories in %s", root->path);
        if (p->tree.cut)
                log_warning("%s is too large to be looked through: git directories deep in it are not guarded, and changes there are "
                                "not reported. Start in a directory below.", root->path);

        r = guard_git(p, root);
        return r < 0 ? r : guard_work(p, root);
}

static int guard_common(Plan *p, const GuardPlace *common) {
        return guard_git_dir(p, common, "");
}

int plan_guards(Plan *p) {
        int r;

        r = guard_profile(p);
        if (r >= 0)
                r = guard_place(p, p->work_root, guard_root);
        if (r >= 0 && p->git_common)
                r = guard_place(p, p->git_common, guard_common);

        return r;
}
