/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/path.h"
#include "launch/host-use.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/replace-file.h"
#include "shared/rm-rf.h"

/* A launch on the host cannot be excluded while it begins, but one that runs is seen. */
static int check_unused(const Command *c, const Profile *p) {
        pid_t pid;
        int r;

        r = command_is_running(c, p->name);
        if (r < 0)
                return r;
        if (r > 0)
                return log_error(-EBUSY,
                                "A launch of %s is running. End it first: systemctl --user stop "
                                "claude-sandbox@%s.",
                                p->name, p->name);

        r = host_use_find(path_last(c->settings->claude_bin), p->path, &pid);
        if (r < 0)
                return log_error(r, "Cannot look through /proc for processes that use %s", p->path);
        if (r > 0)
                return log_error(-EBUSY, "Process %d, %s, uses %s. End it first.", (int) pid,
                                path_last(c->settings->claude_bin), p->path);

        return 0;
}

static int confirm(const Command *c, const Profile *p) {
        if (command_has(c, "yes"))
                return 0;

        if (!can_ask())
                return log_error(-EPERM,
                                "There is no terminal to ask on whether %s is to be removed: --yes says so.",
                                p->path);

        switch (ask(false, "Remove %s with its login, settings and history?", p->path)) {
        case 1:
                return 0;
        case 0:
                return log_error(-ECANCELED, "Nothing done.");
        default:
                return -ECANCELED;
        }
}

static int remove_tree(int dir_fd, const char *dir, const char *name) {
        int r;

        r = rm_rf_at(dir_fd, name);
        if (r == -EACCES || r == -EPERM)
                return log_error(r,
                                "%s/%s has files of other users, as root in a sandbox makes them. Remove "
                                "what is left: podman unshare rm -rf '%s/%s'.",
                                dir, name, dir, name);
        if (r < 0)
                return log_error(r, "Cannot remove all of %s/%s; what is left has to be removed by hand",
                                dir, name);

        return 0;
}

/* Under a hidden name first: from then on it is no profile that could be launched, whatever happens. */
static int hide_profile(const Command *c, const Profile *p, int base_fd, const char *hidden) {
        _cleanup_close_ int lock = -EBADF;
        int r;

        lock = command_lock(c);
        if (lock < 0)
                return lock;

        r = check_unused(c, p);
        if (r < 0)
                return r;

        if (renameat(base_fd, p->name, base_fd, hidden) < 0)
                return log_error(-errno, "Cannot remove %s", p->path);

        return 0;
}

static int remove_data(const Command *c, const char *name) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *dir = NULL;

        dir = path_join(c->dirs->data, "profiles");
        if (!dir)
                return log_oom();

        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return errno == ENOENT ? 0 : log_error(-errno, "Cannot open %s", dir);

        return remove_tree(fd, dir, name);
}

static int remove_all(const Command *c, const Profile *p) {
        const char *base = c->settings->profiles_base;
        _cleanup_close_ int base_fd = -EBADF;
        _cleanup_free_ char *hidden = NULL;
        int r, k;

        r = temporary_name(p->name, &hidden);
        if (r < 0)
                return log_error(r, "Cannot make a name");

        base_fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (base_fd < 0)
                return log_error(-errno, "Cannot open %s", base);

        r = hide_profile(c, p, base_fd, hidden);
        if (r < 0)
                return r;

        r = remove_tree(base_fd, base, hidden);
        k = remove_data(c, p->name);
        return MIN(r, k);
}

static int run(const Command *c) {
        _cleanup_profile_ Profile *p = NULL;
        bool known = false; /* to the user manager */
        int r;

        r = command_open_profile(c, &p);
        if (r >= 0)
                known = profile_is_sandboxed(p, c->settings) != 0;
        if (r >= 0)
                r = check_unused(c, p);
        if (r >= 0)
                r = confirm(c, p);
        if (r >= 0)
                r = remove_all(c, p);
        if (r < 0)
                return r;

        if (known)
                command_reload_manager(c);
        (void) printf("Profile %s is removed.\n", p->name);
        if (access(c->settings->profile_file, F_OK) >= 0)
                (void) printf("Its settings are kept: %s\n", c->settings->profile_file);

        return EXIT_SUCCESS;
}

static const Option options[] = {
        { 'y', "yes", NULL, "Do not ask" },
        { 0 },
};

const Verb verb_remove = {
        .name = "remove",
        .arguments = "NAME",
        .min = 1,
        .max = 1,
        .flags = VERB_PROFILE,
        .options = options,
        .help = "Delete a profile: login, settings, history",
        .details = "Also what is kept for it elsewhere, as the known hosts of its sandboxes. Not while it "
                   "runs.",
        .run = run,
};
