/* SPDX-License-Identifier: MIT */

/* Which directory the sandbox gets to write, and which it must never get.
 *
 * The work root is the nearest directory upwards that holds `.git`, else the launch directory itself. git is not asked: a
 * guest that wrote the repository could answer through it (core.worktree, a planted `.git` file). For the same reason every
 * pointer that is followed here must be pointed back at: a `.git` file names a git directory, and only if that directory
 * names this work tree is it mounted. */

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/git-dir.h"
#include "launch/host-path.h"
#include "launch/plan.h"

typedef enum Reach {
        REACH_ABOVE,   /* refused: the place itself and all above it */
        REACH_OVERLAP, /* refused: all below it, too */
} Reach;

typedef struct Refusal {
        Reach reach;
        const char *below_home; /* relative to the home directory, or NULL */
        const char *path;       /* absolute, or NULL */
        const char *why;
} Refusal;

/* True when `place`, or what it really is, forbids `root`. */
static bool refuses(const char *place, Reach reach, const char *root) {
        _cleanup_free_ char *real = realpath(place, NULL);
        const char *const forms[] = { place, real };

        for (size_t i = 0; i < ELEMENTSOF(forms); i++) {
                if (!forms[i])
                        continue;
                if (reach == REACH_OVERLAP ? path_overlaps(root, forms[i]) : path_is_within(forms[i], root))
                        return true;
        }

        return false;
}

static int find_refusal(const Plan *p, const char *root, const char **ret_why, char **ret_place) {
        const Dirs *dirs = p->request->dirs;
        const Refusal refusals[] = {
                /* The first that fits is named. */
                { REACH_ABOVE, NULL, dirs->home, "the sandbox would hold your home directory" },
                { REACH_OVERLAP, NULL, p->request->settings->profiles_base, "the profiles of every account lie there" },
                { REACH_OVERLAP, NULL, dirs->runtime_root, "the sockets of your session lie there" },
                { REACH_OVERLAP, NULL, dirs->data, "claude-profile keeps its own data there" },
                { REACH_OVERLAP, NULL, dirs->config, "claude-profile's settings lie there" },
                { REACH_OVERLAP, ".config", NULL, "what your programs obey lies there" },
                { REACH_OVERLAP, ".local", NULL, "programs that you run lie there" },
                { REACH_OVERLAP, ".claude", NULL, "the settings of claude on the host lie there" },
                { REACH_OVERLAP, ".ssh", NULL, "keys lie there" },
                { REACH_OVERLAP, ".gnupg", NULL, "keys lie there" },
                { REACH_OVERLAP, ".1password", NULL, "an agent's socket lies there" },
                { REACH_ABOVE, NULL, "/tmp", "sockets of agents and other programs lie there" },
                { REACH_ABOVE, NULL, "/var/tmp", "files of other programs lie there" },
                { REACH_ABOVE, NULL, "/run", "it belongs to the system" },
                { REACH_ABOVE, NULL, "/etc", "it belongs to the system" },
                { REACH_ABOVE, NULL, "/usr", "it belongs to the system" },
                { REACH_ABOVE, NULL, "/var", "it belongs to the system" },
        };

        for (size_t i = 0; i < ELEMENTSOF(refusals); i++) {
                const Refusal *f = &refusals[i];
                _cleanup_free_ char *place = NULL;

                if (f->below_home)
                        place = path_join(dirs->home, f->below_home);
                else if (f->path)
                        place = strdup(f->path);
                else
                        continue;
                if (!place)
                        return log_oom();

                if (refuses(place, f->reach, root)) {
                        *ret_why = f->why;
                        *ret_place = TAKE_PTR(place);
                        return 1;
                }
        }

        return 0;
}

static int check_allowed(const Plan *p, const char *root, const char *what) {
        _cleanup_free_ char *place = NULL, *shown = NULL, *shown_place = NULL, *allowed = NULL;
        const char *why;
        int r;

        if (p->request->settings->allow_root) {
                allowed = realpath(p->request->settings->allow_root, NULL);
                if (allowed && streq(allowed, root))
                        return 0;
        }

        r = find_refusal(p, root, &why, &place);
        if (r <= 0)
                return r;

        shown = str_escape(root);
        shown_place = str_escape(place);
        if (!shown || !shown_place)
                return log_oom();

        return log_error(-EPERM, "The %s %s cannot be given to a sandbox, because of %s: %s. "
                        "Start in a project's own directory%s.",
                        what, shown, shown_place, why,
                        streq(what, "work root") ? ", or name this one in CLAUDE_PROFILE_SANDBOX_ALLOW_ROOT" : "");
}

/* Somebody else's `.git` above the project would make the work root as large as they like (as git itself found out,
 * CVE-2022-24765). */
static bool warn_foreign(const char *git) {
        _cleanup_free_ char *shown = str_escape(git);

        log_warning("%s belongs to another user and is ignored.", shown ?: "A .git");
        return false;
}

static int find_root(Plan *p) {
        _cleanup_free_ char *dir = NULL;

        dir = strdup(p->directory);
        if (!dir)
                return log_oom();

        for (;;) {
                _cleanup_free_ char *git = path_join(dir, ".git");
                struct stat st;
                char *slash;

                if (!git)
                        return log_oom();
                if (lstat(git, &st) >= 0 && (st.st_uid == geteuid() || warn_foreign(git))) {
                        p->work_root = TAKE_PTR(dir);
                        return 0;
                }

                slash = strrchr(dir, '/');
                if (slash == dir)
                        break;
                *slash = '\0';
        }

        p->work_root = strdup(p->directory);
        return p->work_root ? 0 : log_oom();
}

/* crun, D-Bus and json-c take UTF-8 only, and --mount not everything; better to say so than to fail halfway. */
static int check_expressible(const char *path, const char *what) {
        _cleanup_free_ char *shown = NULL;

        if (utf8_is_valid(path, strlen(path)) && mount_path_is_expressible(path))
                return 0;

        shown = str_escape(path);
        return log_error(-EILSEQ, "The %s %s is not UTF-8 or holds a carriage return before a newline, which a container's "
                        "configuration cannot hold. Rename it.", what, shown ?: "?");
}

/* From here on programs are looked up, and an earlier guest may have left some in node_modules/.bin and the like. */
static int restrict_path(const Plan *p) {
        _cleanup_free_ char *base = realpath(p->request->settings->profiles_base, NULL);
        const char *const places[] = { p->work_root, base, p->request->settings->profiles_base, p->request->dirs->data };

        return host_path_restrict(places, ELEMENTSOF(places)) < 0 ? log_oom() : 0;
}

int plan_work_root(Plan *p) {
        int r;

        p->directory = getcwd(NULL, 0);
        if (!p->directory || p->directory[0] != '/')
                return log_error(p->directory ? -ENOENT : -errno, "Cannot tell the current directory; change into one that exists.");

        r = check_expressible(p->directory, "current directory");
        if (r >= 0)
                r = check_expressible(p->request->profile->path, "profile");
        if (r >= 0)
                r = check_expressible(p->request->dirs->data, "data directory");
        if (r >= 0)
                r = find_root(p);
        if (r >= 0)
                r = check_allowed(p, p->work_root, "work root");
        if (r >= 0)
                r = restrict_path(p);
        if (r >= 0)
                r = git_dir_find(p->work_root, &p->git_common);
        if (r >= 0 && p->git_common) {
                r = check_expressible(p->git_common, "git directory");
                if (r >= 0)
                        r = check_allowed(p, p->git_common, "git directory");
        }

        return r;
}
