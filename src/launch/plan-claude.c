/* SPDX-License-Identifier: MIT */

/* What runs in the guest, and with which variables. The sandbox's own arguments stand before the user's, so that arguments
 * behind a subcommand's "--" never pick them up. */

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/native-claude.h"
#include "launch/plan.h"
#include "launch/shared-settings.h"
#include "shared/env-file.h"

#define CREDENTIALS ".credentials.json"
#define CREDENTIALS_MAX (1 * MIB)

static bool user_gave(char *const *args, const char *option) {
        size_t n = strlen(option);

        STRV_FOREACH(a, args) {
                if (streq(*a, "--"))
                        return false;
                if (strncmp(*a, option, n) == 0 && ((*a)[n] == '\0' || (*a)[n] == '='))
                        return true;
        }

        return false;
}

static int add_briefing(Plan *p) {
        char *text;
        int r;

        r = plan_briefing(p, &text);
        if (r < 0)
                return r;
        r = strv_add(&p->command, "--append-system-prompt");
        if (r < 0) {
                free(text);
                return r;
        }

        return strv_take(&p->command, text);
}

#define GUEST_SETTINGS GUEST_RUN "/settings.json"

/* As a file: in an argument the tokens of hooks would be seen by every user. */
static int add_shared_settings(Plan *p) {
        const LaunchRequest *request = p->request;
        _cleanup_shared_settings_ SharedSettings s = { 0 };
        int r;

        r = shared_settings_load(request->settings, request->profile->name,
                        request->settings->isolation == ISOLATION_KRUN ? SETTINGS_IN_VM : SETTINGS_IN_CONTAINER, &s);
        if (r < 0 || !s.text)
                return r;
        if (shared_settings_are_overridden(request->args)) {
                log_notice("Your --settings is used instead of %s/" SHARED_SETTINGS ".", request->settings->profiles_base);
                return 0;
        }

        memcpy(p->hook_ports, s.hook_ports, sizeof(p->hook_ports));
        p->n_hook_ports = s.n_hook_ports;
        r = plan_add_copy(p, "settings.json", TAKE_PTR(s.text), s.n, GUEST_SETTINGS, SHARED_SETTINGS " for this profile");
        if (r >= 0)
                r = strv_add_many(&p->command, "--settings", GUEST_SETTINGS, NULL);
        return r < 0 ? log_oom() : 0;
}

/* claude.ai's logins have scopes, and only some let claude use the browser; with any other kind of login nothing is known. */
static bool login_lacks_chrome(const struct json_object *credentials) {
        static const char *const scopes[] = { "user:profile", "user:office", "user:ccr_inference" };
        struct json_object *oauth, *list;

        if (!json_object_is_type(credentials, json_type_object) ||
                        !json_object_object_get_ex(credentials, "claudeAiOauth", &oauth) || !json_object_is_type(oauth, json_type_object) ||
                        !json_object_object_get_ex(oauth, "scopes", &list) || !json_object_is_type(list, json_type_array))
                return false;

        for (size_t i = 0; i < json_object_array_length(list); i++)
                for (size_t k = 0; k < ELEMENTSOF(scopes); k++) {
                        struct json_object *scope = json_object_array_get_idx(list, i);

                        if (json_object_is_type(scope, json_type_string) && streq(json_object_get_string(scope), scopes[k]))
                                return false;
                }

        return true;
}

static void warn_of_login(const Profile *profile) {
        _cleanup_free_ char *text = NULL;
        struct json_object *o;
        size_t n;

        if (io_read_file_at(profile->fd, CREDENTIALS, CREDENTIALS_MAX, &text, &n) < 0)
                return; /* no login yet, or none that claude would read */

        o = json_tokener_parse(text);
        if (login_lacks_chrome(o))
                log_warning("The login of profile %s does not allow --chrome: its scopes have none of user:profile, user:office and "
                                "user:ccr_inference. Log in anew: /login in claude.", profile->name);
        (void) json_object_put(o);
        explicit_bzero(text, n);
}

static int add_chrome(Plan *p) {
        char *const *args = p->request->args;
        const bool given = user_gave(args, "--chrome");

        if (user_gave(args, "--no-chrome") || (!given && !p->request->settings->chrome))
                return 0;

        warn_of_login(p->request->profile);
        return given ? 0 : strv_add(&p->command, "--chrome");
}

static int add_claude_command(Plan *p) {
        char *const *args = p->request->args;
        int r;

        r = strv_add(&p->command, "claude");
        if (r >= 0)
                r = add_shared_settings(p);
        if (r >= 0 && p->request->settings->skip_permissions &&
                        !user_gave(args, "--dangerously-skip-permissions") && !user_gave(args, "--permission-mode"))
                r = strv_add(&p->command, "--dangerously-skip-permissions");
        if (r >= 0)
                r = add_chrome(p);
        if (r >= 0 && !user_gave(args, "--append-system-prompt"))
                r = add_briefing(p);
        if (r >= 0)
                r = strv_extend(&p->command, args);

        return r;
}

static int add_shell_command(Plan *p) {
        if (strv_length(p->request->args) > 0)
                return strv_extend(&p->command, p->request->args);

        return strv_add_many(&p->command, "/bin/sh", "-c",
                        "command -v bash >/dev/null && exec bash -l; exec sh -l", NULL);
}

static int add_profile_environment(Plan *p) {
        _cleanup_free_ char *path = NULL, *why = NULL;
        _cleanup_strv_ char **warnings = NULL;
        int r;

        path = path_join(p->request->profile->path, ".env");
        if (!path)
                return log_oom();

        r = env_file_load(p->request->profile->fd, path, &p->environment, &warnings, &why);
        STRV_FOREACH(w, warnings)
                log_warning("%s.", *w);
        if (r < 0)
                return why ? log_error(r, "%s.", why) : log_error(r, "Cannot read %s", path);

        return 0;
}

static int add_native_claude(Plan *p) {
        _cleanup_free_ char *source = NULL;
        int r;

        r = native_claude_find(p->request->dirs, p->request->settings, &p->native);
        /* A link in PATH may lead to where guests write. */
        if (r > 0 && (path_is_within(p->native.source, p->work_root) ||
                        path_is_within(p->native.source, p->request->settings->profiles_base))) {
                native_claude_clear(&p->native);
                r = 0;
        }
        if (r == 0)
                return 0;
        source = r > 0 ? plan_resolve(p->native.copy) : NULL;
        if (!source)
                return log_oom();

        r = plan_add_mount(p, MOUNT_BIND, source, GUEST_NATIVE_CLAUDE, MOUNT_READ_ONLY | MOUNT_RELABEL, "copy of the host's claude");
        if (r >= 0)
                r = strv_add(&p->guest_env, "DISABLE_AUTOUPDATER=1");

        return r < 0 ? log_oom() : 0;
}

/* NUL-terminated strings one behind the other (basic/wire.h). */
static int add_list_file(Plan *p, const char *name, char *const *list) {
        _cleanup_free_ char *data = NULL;
        size_t size = 0;
        char *q;

        STRV_FOREACH(s, list)
                size += strlen(*s) + 1;

        data = q = malloc(size + 1);
        if (!data)
                return -ENOMEM;
        STRV_FOREACH(s, list)
                q = stpcpy(q, *s) + 1;

        return plan_add_file(p, name, TAKE_PTR(data), size);
}

int plan_claude(Plan *p) {
        static const char *const passed[] = { "TERM", "COLORTERM" };
        int r;

        r = strv_add(&p->guest_env, "CLAUDE_CONFIG_DIR=" GUEST_CLAUDE_DIR);
        for (size_t i = 0; i < ELEMENTSOF(passed) && r >= 0; i++) {
                const char *value = getenv(passed[i]);

                if (!str_is_empty(value))
                        r = strv_addf(&p->guest_env, "%s=%s", passed[i], value);
        }
        if (r < 0)
                return log_oom();

        r = add_profile_environment(p);
        if (r >= 0)
                r = plan_tokens(p);
        if (r >= 0)
                r = add_native_claude(p);
        if (r < 0)
                return r;

        r = p->request->shell ? add_shell_command(p) : add_claude_command(p);
        if (r < 0 && r != -ENOMEM)
                return r; /* said */
        if (r >= 0)
                r = add_list_file(p, "guest/" LAUNCH_FILE_COMMAND, p->command);
        if (r >= 0)
                r = add_list_file(p, "guest/" LAUNCH_FILE_ENVIRONMENT, p->environment);

        return r < 0 ? log_oom() : 0;
}
