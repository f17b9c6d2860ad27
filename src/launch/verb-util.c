/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/explain.h"
#include "launch/launch.h"
#include "launch/near-name.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/bus.h"
#include "shared/launch-dir.h"
#include "shared/lock.h"

#define WORD_SHOWN 80 /* bytes, in a message */

/* What was probably meant: a profile, or a command where that could stand too. NULL: nothing is near. */
static const char *guess(const Command *c, char *const *profiles, const char *name, bool *ret_is_command) {
        const char *commands[32] = { NULL };
        const char *near;

        near = near_name(profiles, name);
        *ret_is_command = false;
        if (near || c->verb != &verb_run)
                return near;

        for (size_t i = 0; verb_table[i] && i + 1 < ELEMENTSOF(commands); i++)
                commands[i] = verb_table[i]->name;

        *ret_is_command = true;
        return near_name((char *const *) commands, name);
}

static int say_unknown(const Command *c, const char *name) {
        _cleanup_strv_ char **names = NULL, **odd = NULL;
        const char *near = NULL;
        bool is_command = false;

        if (profile_list(c->settings, &names, &odd) >= 0)
                near = guess(c, names, name, &is_command);

        if (near)
                return log_error(-ENOENT,
                                "There is no profile \"%s\". Did you mean %s\"%s\"? To make it: "
                                "claude-profile add %s.",
                                name, is_command ? "the command " : "", near, name);

        return log_error(-ENOENT,
                        "There is no profile \"%s\" in %s. To make it: claude-profile add %s. All there "
                        "are: claude-profile list.",
                        name, c->settings->profiles_base, name);
}

int command_open_profile(const Command *c, Profile **ret) {
        const char *name = c->args[0];
        int r;

        r = profile_open(c->settings, name, ret);
        if (r == -ENOENT)
                return say_unknown(c, name);
        if (r == -ENOTDIR)
                return log_error(r, "%s/%s is a link or no directory, and a profile is a directory.",
                                c->settings->profiles_base, name);
        if (r < 0)
                return log_error(r, "Cannot open the profile %s/%s", c->settings->profiles_base, name);

        return 0;
}

int command_lock(const Command *c) {
        int fd;

        fd = profiles_lock(c->dirs, PROFILES_CHANGE);
        if (fd == -EBUSY)
                return log_error(fd,
                                "Another claude-profile is changing profiles and does not end (see: fuser "
                                "%s/lock).",
                                c->dirs->data);
        if (fd < 0)
                return log_error(fd, "Cannot lock %s/lock", c->dirs->data);

        return fd;
}

int command_is_running(const Command *c, const char *profile) {
        _cleanup_free_ char *usual = NULL;
        Dirs dirs = *c->dirs;
        int r;

        /* Without XDG_RUNTIME_DIR (su, cron) look where logind makes it: launches of other sessions are
         * there. */
        if (!dirs.runtime) {
                if (asprintf_to(&usual, "/run/user/%u/claude-profile", (unsigned) getuid()) < 0)
                        return log_oom();
                dirs.runtime = usual;
        }

        r = launch_any_alive(&dirs, profile);
        return r < 0 ? log_error(r, "Cannot tell whether a launch of \"%s\" runs: %s", profile, dirs.runtime)
                     : r;
}

void command_reload_manager(const Command *c) {
        int r;

        r = user_manager_reload(c->dirs);
        if (r == -ENOMEDIUM || r == -ECONNREFUSED)
                return; /* it will see when it starts */
        if (r < 0)
                log_warning("The user manager did not take note (%s). Have it do so: systemctl --user daemon-reload.", strerror(-r));
}

static int say_unknown_property(const Command *c, const char *shown) {
        char names[256] = "";

        for (LimitId id = 0; id < _LIMIT_MAX; id++) {
                (void) strcat(names, id > 0 ? ", " : "");
                (void) strcat(names, limit_name(id));
        }

        return usage_error(c->verb, "-p %s: no limit; there are %s", shown, names);
}

/* "NAME=VALUE" */
static int parse_property(const Command *c, const char *property, Limits *limits) {
        const size_t n = strcspn(property, "=");
        _cleanup_free_ char *shown = str_escape_n(property, strlen(property), WORD_SHOWN);
        const int id = limit_from_name(property, n);

        if (id < 0)
                return say_unknown_property(c, shown ?: "?");
        if (property[n] == '\0' || limit_parse((LimitId) id, property + n + 1, &limits->items[id]) < 0)
                return usage_error(c->verb, "-p %s: expected %s= and %s", shown ?: "?", limit_name((LimitId) id),
                                limit_expectation((LimitId) id));

        return 0;
}

/* What -p says; the last one counts. */
static int parse_properties(const Command *c, Limits *ret) {
        int r = 0;

        for (size_t i = 0; i < c->n_given && r == 0; i++)
                if (streq(c->given[i].option->name, "property"))
                        r = parse_property(c, c->given[i].value, ret);

        return r;
}

static int explain_launch(const Command *c, const LaunchRequest *request, bool sandboxed) {
        const bool json = command_has(c, "json");

        if (sandboxed)
                return launch_explain(request, json);

        (void) printf(json ? "{\"profile\": \"%s\", \"sandbox\": false}\n" :
                        "Profile %s, on the host: claude with CLAUDE_CONFIG_DIR and the profile's variables.\n", request->profile->name);
        return 0;
}

int command_launch(const Command *c, char *const *args, bool shell) {
        _cleanup_profile_ Profile *p = NULL;
        LaunchRequest request = { .dirs = c->dirs, .settings = c->settings, .args = args, .shell = shell };
        int r, status;

        r = parse_properties(c, &request.limits);
        if (r != 0)
                return r;
        r = command_open_profile(c, &p);
        if (r < 0)
                return r;
        request.profile = p;

        r = profile_is_sandboxed(p, c->settings);
        if (r < 0)
                return log_error(r, "Cannot tell whether %s is sandboxed, so it is not launched", p->path);
        if (r == 0 && !limits_are_none(&request.limits))
                return log_error(-EINVAL, "Profile %s runs on the host, where -p would limit nothing. In a sandbox: "
                                "claude-profile sandbox %s --on.", p->name, p->name);
        if (command_has(c, "dry-run"))
                return explain_launch(c, &request, r > 0);
        if (r == 0)
                return launch_host(&request);

        r = launch_sandboxed(&request, &status);
        return r < 0 ? r : status;
}

/* The name of a profile is never taken for the beginning of an id, also when nothing of it runs. */
static int select_launches(const Command *c, const char *word, LaunchList *list) {
        _cleanup_free_ char *shown = str_escape_n(word, strlen(word), WORD_SHOWN);
        _cleanup_profile_ Profile *p = NULL;
        int r;

        if (profile_open(c->settings, word, &p) >= 0 && !launch_list_has_profile(list, word))
                return log_error(-ENOENT, "No sandboxed launch of profile %s runs. All that run: claude-profile ps.", word);

        r = launch_list_select(list, word);
        if (r == -ENOTUNIQ)
                return log_error(r, "\"%s\" is how the ids of several launches begin. All there are: claude-profile ps.", shown ?: "?");
        if (r < 0)
                return log_error(r, "No launch runs that \"%s\" could mean: a profile, an id, or the first four digits or "
                                "more of one. All there are: claude-profile ps.", shown ?: "?");
        return 0;
}

int command_launches(const Command *c, const char *word, LaunchList *ret, sd_bus **ret_bus) {
        _cleanup_launch_list_ LaunchList list = { 0 };
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        r = user_bus_open(c->dirs, &bus);
        if (r >= 0)
                r = user_bus_wait(bus, NULL);
        if (r < 0)
                return log_error(r, "No user manager answers (%s), and without it nothing can be told of launches. Log in properly "
                                "(ssh, a console; not su or sudo).", strerror(-r));
        r = launch_list_load(c->dirs, NULL, bus, &list);
        if (r < 0)
                return log_error(r, "Cannot read %s", c->dirs->runtime);

        r = word ? select_launches(c, word, &list) : 0;
        if (r < 0)
                return r;

        *ret = list;
        list = (LaunchList) { 0 };
        *ret_bus = TAKE_PTR(bus);
        return 0;
}

bool can_ask(void) {
        return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

int ask(bool fallback, const char *format, ...) {
        char question[1024];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(question, sizeof(question), format, ap);
        va_end(ap);

        for (;;) {
                char answer[64];

                (void) fprintf(stderr, "%s [%s] ", question, fallback ? "Y/n" : "y/N");
                if (!fgets(answer, sizeof(answer), stdin)) {
                        (void) fputc('\n', stderr);
                        return log_error(-ECANCELED, "No answer, nothing done.");
                }

                answer[strcspn(answer, "\r\n")] = '\0';
                if (answer[0] == '\0')
                        return fallback;
                if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0)
                        return 1;
                if (strcasecmp(answer, "n") == 0 || strcasecmp(answer, "no") == 0)
                        return 0;
        }
}

char *profile_file(const Profile *p, const char *name) {
        return path_join(p->path, name);
}
