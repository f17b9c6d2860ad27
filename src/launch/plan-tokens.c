/* SPDX-License-Identifier: MIT */

/* What the guest is handed on demand: variables of the caller, and tokens of other tools' logins. All travel in the launch's
 * environment file. What the profile's .env says of a name counts: profiles keep accounts apart. A token that cannot be had is
 * a warning, and the launch goes on. */

#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/plan.h"
#include "launch/token.h"
#include "shared/env-file.h"

#define TOKEN_MAX 4096
#define GITHUB "github.com"

static int forward_environment(Plan *p) {
        STRV_FOREACH(name, p->request->settings->forward_env) {
                const char *value = getenv(*name), *reserved = env_name_reserved(*name, strlen(*name));
                _cleanup_free_ char *shown = str_escape(*name);
                int r;

                if (!shown)
                        return log_oom();
                if (!env_name_is_valid(*name, strlen(*name)) || reserved)
                        return log_error(-EINVAL, "CLAUDE_PROFILE_SANDBOX_FORWARD_ENV names %s, which cannot be forwarded: it %s. "
                                        "Leave it out.", shown, reserved ?: "is no name of a variable");
                if (!value) {
                        if (!strv_env_get(p->environment, *name))
                                log_warning("%s is to be forwarded (CLAUDE_PROFILE_SANDBOX_FORWARD_ENV) and is set nowhere.", shown);
                        continue;
                }

                r = token_add_variable(p, *name, value);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* gh keeps its tokens where it likes, a key ring or a file: it is asked. `*ret` stays NULL when it has none, which was said. */
static int ask_gh(const char *host, char **ret) {
        static const char *const passed[] = { "HOME", "PATH", "XDG_*", "DBUS_SESSION_BUS_ADDRESS", "LANG", "GH_*", "GITHUB_TOKEN",
                "GITHUB_ENTERPRISE_TOKEN" };
        char *const argv[] = { (char *) "gh", (char *) "auth", (char *) "token", (char *) "--hostname", (char *) host, NULL };
        _cleanup_free_ char *shown = str_escape(host), *output = NULL;
        size_t n = 0;
        int r;

        r = shown ? token_ask(argv, passed, ELEMENTSOF(passed), "GH_PROMPT_DISABLED=1", TOKEN_HELPER_USEC, TOKEN_MAX, &output, &n) : -ENOMEM;
        if (r == -ENOMEM)
                return log_oom();
        if (r == 0 && n > 0 && output[n - 1] == '\n')
                output[--n] = '\0';
        if (r == 0 && strlen(output) == n && token_is_sound(output)) {
                *ret = TAKE_PTR(output);
                return 0;
        }

        if (output)
                explicit_bzero(output, n);
        if (r == -ENOENT)
                log_warning("gh is not installed; the sandbox gets no GitHub token.");
        else
                log_warning("gh has no token for %s (%s); the sandbox gets none. Log in: gh auth login --hostname %s .", shown,
                                token_failure(r), shown);
        return 0;
}

/* gh takes GH_TOKEN for github.com and its subdomains, GH_ENTERPRISE_TOKEN for the host that GH_HOST names. */
static int forward_gh(Plan *p) {
        const char *host = getenv("GH_HOST");
        bool github = str_is_empty(host) || streq(host, GITHUB) || str_has_suffix(host, "." GITHUB);
        _cleanup_free_ char *token = NULL;
        int r;

        if (github)
                host = GITHUB;
        r = ask_gh(host, &token);
        if (r < 0 || !token)
                return r;

        r = token_add_variable(p, github ? "GH_TOKEN" : "GH_ENTERPRISE_TOKEN", token);
        if (r >= 0 && !github)
                r = token_add_variable(p, "GH_HOST", host);
        explicit_bzero(token, strlen(token));
        return r;
}

/* ~/.pulumi/credentials.json: {"current": "<backend>", "accessTokens": {"<backend>": "<token>"}}. Backends that are no https
 * services (file://, s3://…) have no tokens. */
static const char *pulumi_token(struct json_object *o) {
        struct json_object *current, *tokens, *token;
        const char *backend;

        if (!json_object_object_get_ex(o, "current", &current) || !json_object_is_type(current, json_type_string) ||
                        !json_object_object_get_ex(o, "accessTokens", &tokens) || !json_object_is_type(tokens, json_type_object))
                return NULL;

        backend = json_object_get_string(current);
        if (!str_after_prefix(backend, "https://") || !json_object_object_get_ex(tokens, backend, &token) ||
                        !json_object_is_type(token, json_type_string) || !token_is_sound(json_object_get_string(token)))
                return NULL;

        return json_object_get_string(token);
}

static int forward_pulumi(Plan *p) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        struct json_object *o = NULL;
        const char *token = NULL;
        size_t n;
        int r;

        path = path_join(p->request->dirs->home, ".pulumi/credentials.json");
        if (!path)
                return log_oom();

        r = io_read_file_at(AT_FDCWD, path, TOKEN_FILE_MAX, &text, &n);
        if (r >= 0) {
                o = json_tokener_parse(text);
                token = json_object_is_type(o, json_type_object) ? pulumi_token(o) : NULL;
        }
        if (token)
                r = token_add_variable(p, "PULUMI_ACCESS_TOKEN", token);
        else {
                log_warning("There is no token of a current https backend in %s; the sandbox gets none. Log in: pulumi login .", path);
                r = 0;
        }

        (void) json_object_put(o);
        if (text)
                explicit_bzero(text, n);
        return r;
}

int plan_tokens(Plan *p) {
        const Settings *s = p->request->settings;
        int r;

        r = forward_environment(p);
        if (r >= 0 && s->gh)
                r = forward_gh(p);
        if (r >= 0 && s->pulumi)
                r = forward_pulumi(p);
        if (r >= 0 && s->infisical)
                r = plan_infisical(p);

        return r;
}
