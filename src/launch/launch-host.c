/* SPDX-License-Identifier: MIT */

/* A launch on the host: this process becomes claude. Everything that reads the profile happens before, with
 * our own environment; the profile's variables go into the new one and nowhere else. */

#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/find-program.h"
#include "launch/launch.h"
#include "launch/profile-links.h"
#include "launch/shared-settings.h"
#include "launch/trust-report.h"
#include "shared/env-file.h"
#include "shared/lock.h"
#include "shared/mkdir.h"
#include "shared/replace-file.h"

typedef struct HostLaunch {
        const LaunchRequest *request;
        char *program;
        char **argv;
        char **env;
} HostLaunch;

static void host_launch_clear(HostLaunch *l) {
        free(l->program);
        strv_free(l->argv);
        strv_free(l->env);
}
#define _cleanup_host_launch_ _cleanup_(host_launch_clear)

static int say_no_claude(const char *name, int error, const char *passed_over) {
        if (error == -ENOMEM)
                return log_oom();
        if (error == -ELOOP || passed_over)
                return log_error(error,
                                "%s calls claude-profile, which would launch it again and again. Set "
                                "CLAUDE_PROFILE_CLAUDE_BIN to the path of claude itself.",
                                passed_over ?: name);
        if (error == -ENOENT && !strchr(name, '/'))
                return log_error(error,
                                "There is no \"%s\" in PATH. Install Claude Code "
                                "(https://claude.com/claude-code), or set CLAUDE_PROFILE_CLAUDE_BIN to its "
                                "path.",
                                name);
        if (error == -ENOENT)
                return log_error(error,
                                "There is no %s. Set CLAUDE_PROFILE_CLAUDE_BIN to the path of claude.",
                                name);
        if (error == -EACCES)
                return log_error(error,
                                "%s is no program that you may execute. Set CLAUDE_PROFILE_CLAUDE_BIN to "
                                "the path of claude.",
                                name);

        return log_error(error, "Cannot use %s", name);
}

/* As a file that is kept: no process of ours stays to remove it. The next launch of the profile replaces it. */
static int add_shared_settings(HostLaunch *l) {
        const LaunchRequest *request = l->request;
        _cleanup_shared_settings_ SharedSettings s = { 0 };
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *dir = NULL;
        int r;

        r = shared_settings_load(request->settings, request->profile->name, SETTINGS_ON_HOST, &s);
        if (r < 0 || !s.text)
                return r;
        if (shared_settings_are_overridden(request->args)) {
                log_notice("Your --settings is used instead of %s/" SHARED_SETTINGS ".",
                                request->settings->profiles_base);
                return 0;
        }

        r = asprintf_to(&dir, "%s/profiles/%s", request->dirs->data, request->profile->name);
        if (r < 0)
                return log_oom();
        fd = mkdir_open(dir);
        r = fd < 0 ? fd : replace_file_at(fd, SHARED_SETTINGS, 0600, s.text, s.n);
        if (r < 0)
                return log_error(r, "Cannot write %s/" SHARED_SETTINGS, dir);

        if (strv_add(&l->argv, "--settings") < 0 || strv_addf(&l->argv, "%s/" SHARED_SETTINGS, dir) < 0)
                return log_oom();
        return 0;
}

static int find_claude(HostLaunch *l) {
        const char *name = l->request->settings->claude_bin;
        _cleanup_free_ char *passed_over = NULL;
        int r;

        r = find_program(name, FIND_NOT_OURSELVES, &l->program, &passed_over);
        if (r < 0)
                return say_no_claude(name, r, passed_over);

        if (strv_add(&l->argv, name) < 0)
                return log_oom();
        r = add_shared_settings(l);
        if (r < 0)
                return r;

        return strv_extend(&l->argv, l->request->args) < 0 ? log_oom() : 0;
}

static const char *user_shell(void) {
        const char *shell = getenv("SHELL");
        const struct passwd *pw;

        if (shell && shell[0] == '/')
                return shell;

        pw = getpwuid(getuid());
        return pw && pw->pw_shell[0] == '/' ? pw->pw_shell : "/bin/sh";
}

static int find_command(HostLaunch *l) {
        const char *name = l->request->args[0] ?: user_shell();
        _cleanup_free_ char *passed_over = NULL;
        int r;

        r = find_program(name, 0, &l->program, &passed_over);
        if (r < 0) {
                _cleanup_free_ char *shown = str_escape(name);

                return log_error(r, "Cannot find the command \"%s\"", shown ?: "?");
        }

        if (strv_add(&l->argv, name) < 0 ||
                        (l->request->args[0] && strv_extend(&l->argv, l->request->args + 1) < 0))
                return log_oom();

        return 0;
}

/* Whether the profile sets it, or it was meant for this process, as are sockets that were handed to us. */
static bool is_replaced(const char *entry, char *const *profile_env) {
        static const char *const ours[] = {
                "CLAUDE_CONFIG_DIR", "LISTEN_FDS", "LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDNAMES",
        };
        const size_t n = strcspn(entry, "=");

        for (size_t i = 0; i < ELEMENTSOF(ours); i++)
                if (strlen(ours[i]) == n && strncmp(entry, ours[i], n) == 0)
                        return true;

        STRV_FOREACH(e, profile_env)
                if (strncmp(*e, entry, n) == 0 && (*e)[n] == '=')
                        return true;

        return false;
}

static int build_environment(HostLaunch *l, char *const *profile_env) {
        int r;

        r = strv_addf(&l->env, "CLAUDE_CONFIG_DIR=%s", l->request->profile->path);
        if (r < 0)
                return r;

        STRV_FOREACH(e, environ) {
                if (is_replaced(*e, profile_env))
                        continue;
                r = strv_add(&l->env, *e);
                if (r < 0)
                        return r;
        }

        return strv_extend(&l->env, profile_env);
}

static int load_environment(HostLaunch *l) {
        const Profile *p = l->request->profile;
        _cleanup_strv_ char **env = NULL, **warnings = NULL;
        _cleanup_free_ char *path = NULL, *error = NULL;
        _cleanup_close_ int lock = -EBADF;
        int r;

        path = path_join(p->path, PROFILE_ENV_FILE);
        if (!path)
                return log_oom();

        /* While a sandbox runs the file may be written in place: not to be read half. */
        lock = profiles_lock(l->request->dirs, PROFILES_READ);
        if (lock == -EBUSY)
                return log_error(lock,
                                "Another claude-profile is changing profiles and does not end (see: fuser "
                                "%s/lock).",
                                l->request->dirs->data);

        r = env_file_load(p->fd, path, &env, &warnings, &error);
        if (r < 0)
                return error ? log_error(r, "%s.", error) : log_oom();
        STRV_FOREACH(w, warnings)
                log_warning("%s.", *w);

        r = build_environment(l, env);
        return r < 0 ? log_oom() : 0;
}

/* claude runs it to draw its status line. */
static void check_statusline(const LaunchRequest *request) {
        LinkState state;

        if (!profile_was_ever_sandboxed(request->profile, request->dirs))
                return;

        if (profile_link_read(request->profile->fd, request->dirs->home, STATUSLINE, &state, NULL) >= 0 &&
                        (state == LINK_NONE || state == LINK_GLOBAL))
                return;

        log_warning("%s/%s is not the link to ~/.claude/%s. A sandbox of this profile may have written it, "
                    "and claude runs it on the host: look at it, or remove it.",
                        request->profile->path, STATUSLINE, STATUSLINE);
}

static void check_directory(const LaunchRequest *request) {
        struct stat here, home;

        if (stat(".", &here) < 0 || stat(request->dirs->home, &home) < 0)
                return;

        if (here.st_dev == home.st_dev && here.st_ino == home.st_ino)
                log_warning("This is your home directory: claude takes ~/.claude for the settings of a "
                            "project here, and they outrank those of profile %s. Launch it in another "
                            "directory.",
                                request->profile->name);
}

/* The shell's idea of where it is counts if it is true; it is not when it led through a descriptor that is
 * closed now. */
static int check_pwd(char **env) {
        _cleanup_free_ char *cwd = NULL;
        struct stat here, there;

        for (char **e = env; *e; e++) {
                const char *pwd = str_after_prefix(*e, "PWD=");
                char *entry;

                if (!pwd || (stat(".", &here) >= 0 && stat(pwd, &there) >= 0 &&
                                            here.st_dev == there.st_dev && here.st_ino == there.st_ino))
                        continue;

                cwd = getcwd(NULL, 0);
                if (!cwd)
                        return 0;
                if (asprintf_to(&entry, "PWD=%s", cwd) < 0)
                        return log_oom();
                free(*e);
                *e = entry;
                return 0;
        }

        return 0;
}

static int say_not_executed(const HostLaunch *l, int error) {
        switch (error) {
        case -E2BIG:
                return log_error(error, "The arguments and variables for %s are more than the kernel takes.",
                                l->program);
        case -ENOENT:
                return log_error(error, "The interpreter that %s names in its first line is missing.",
                                l->program);
        case -ENOEXEC:
                return log_error(error,
                                "%s is neither a program nor a script with \"#!\" in its first line.",
                                l->program);
        default:
                return log_error(error, "Cannot execute %s", l->program);
        }
}

int launch_host(const LaunchRequest *request) {
        _cleanup_host_launch_ HostLaunch l = { .request = request };
        int r;

        r = request->shell ? find_command(&l) : find_claude(&l);
        if (r >= 0)
                r = load_environment(&l);
        if (r < 0)
                return r;

        trust_report_left(request);
        if (!request->shell) {
                check_statusline(request);
                check_directory(request);
        }

        r = fd_close_from(STDERR_FILENO + 1);
        if (r < 0)
                return log_error(r, "Cannot close inherited descriptors");
        r = check_pwd(l.env);
        if (r < 0)
                return r;

        (void) execve(l.program, l.argv, l.env);
        return say_not_executed(&l, -errno);
}
