/* SPDX-License-Identifier: MIT */

/* Logins of Infisical's command line tool. It lists them in ~/.infisical/infisical-config.json and keeps their tokens in the user's key
 * ring, which secret-tool(1) reads; `infisical` itself would ask, renew or open a browser. Only logins that the setting names are
 * looked up, and only tokens that are still good are handed over:
 *
 *   INFISICAL_TOKEN, _API_URL, _DOMAIN   the login that is in use on the host if it is among them, else the first
 *   CLAUDE_SANDBOX_INFISICAL             all of them, a JSON array of objects with email, domain and token
 *
 * The three belong together, since a token must not be sent to another server: if the profile has one of them, none is added. */

#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/token.h"
#include "shared/json-object.h"

#define CONFIG ".infisical/infisical-config.json"
#define LOGINS_MAX 32
#define SECRET_MAX (64 * KIB)
#define STILL_GOOD 30 /* seconds that a token must last */

typedef struct Login {
        const char *email, *domain; /* the configuration's; the latter is a URL, or "" */
        bool wanted, active;
        char *token;
} Login;

typedef struct Logins {
        Json *config;
        Login items[LOGINS_MAX];
        size_t n;
        uint64_t deadline; /* for all look-ups together */
} Logins;

static void logins_clear(Logins *l) {
        for (size_t i = 0; i < l->n; i++) {
                if (l->items[i].token)
                        explicit_bzero(l->items[i].token, strlen(l->items[i].token));
                free(l->items[i].token);
        }
        (void) json_object_put(l->config);
}
#define _cleanup_logins_ _cleanup_(logins_clear)

/* "" if there is no such string, or one that would look like another. */
static const char *member_string(Json *o, const char *name) {
        return (json_object_is_type(o, json_type_object) ? json_get_string(o, name) : NULL) ?: "";
}

static void add_login(Logins *l, const char *email, const char *domain, const char *active) {
        if (l->n >= LOGINS_MAX || !token_is_sound(email) || !strchr(email, '@') || (*domain && !token_is_sound(domain)))
                return;

        l->items[l->n++] = (Login) { .email = email, .domain = domain, .active = strcasecmp(email, active) == 0 };
}

static int load_logins(const char *path, Logins *l) {
        _cleanup_free_ char *text = NULL;
        Json *users;
        const char *active;
        size_t n;
        int r;

        r = io_read_file_at(AT_FDCWD, path, TOKEN_FILE_MAX, &text, &n);
        if (r < 0)
                return r;
        l->config = json_tokener_parse(text);
        active = member_string(l->config, "loggedInUserEmail");

        if (json_object_is_type(l->config, json_type_object) && json_object_object_get_ex(l->config, "loggedInUsers", &users) &&
                        json_object_is_type(users, json_type_array))
                for (size_t i = 0; i < json_object_array_length(users); i++) {
                        Json *user = json_object_array_get_idx(users, i);

                        add_login(l, member_string(user, "email"), member_string(user, "domain"), active);
                }
        if (l->n == 0) /* before it knew of several */
                add_login(l, active, member_string(l->config, "LoggedInUserDomain"), active);

        return l->n > 0 ? 0 : -ENODATA;
}

/* Whether `domain` is the `n` bytes of `name` or a parent of it. */
static bool domain_covers(const char *domain, const char *name, size_t n) {
        size_t k = strlen(domain);

        return k > 0 && k <= n && strncasecmp(name + n - k, domain, k) == 0 && (k == n || name[n - k - 1] == '.');
}

/* The host of a URL; "" for anything else. */
static const char *url_host(const char *url, size_t *ret_n) {
        const char *host = strstr(url, "://"), *at;
        size_t n;

        host = host ? host + 3 : "";
        n = strcspn(host, "/?#");
        at = memrchr(host, '@', n);
        if (at) {
                n -= (size_t) (at + 1 - host);
                host = at + 1;
        }

        *ret_n = MIN(n, strcspn(host, ":"));
        return host;
}

static bool login_matches(const Login *login, const char *entry) {
        const char *domain = strchr(login->email, '@') + 1, *host;
        size_t n;

        if (strchr(entry, '@'))
                return strcasecmp(login->email, entry) == 0;

        host = url_host(login->domain, &n);
        return domain_covers(entry, domain, strlen(domain)) || domain_covers(entry, host, n);
}

/* What the key ring has for a login: JSON, with the token as "JTWToken". */
static char *token_of_secret(const char *secret) {
        Json *o = json_tokener_parse(secret);
        const char *token = member_string(o, "JTWToken");
        char *copy = token_is_sound(token) ? strdup(token) : NULL;

        (void) json_object_put(o);
        return copy;
}

/* The login stays without a token if there is none that is good, which was said. */
static int look_up(Logins *l, Login *login) {
        static const char *const passed[] = { "HOME", "PATH", "XDG_*", "DBUS_SESSION_BUS_ADDRESS", "LANG" };
        char *const argv[] = { (char *) "secret-tool", (char *) "lookup", (char *) "service", (char *) "infisical-cli", (char *) "username",
                (char *) login->email, NULL };
        uint64_t now = now_usec();
        _cleanup_free_ char *secret = NULL;
        int64_t expiry = 0;
        size_t n = 0;
        int r;

        r = now >= l->deadline ? -ETIMEDOUT :
                token_ask(argv, passed, ELEMENTSOF(passed), NULL, l->deadline - now, SECRET_MAX, &secret, &n);
        if (r == -ENOMEM)
                return log_oom();
        if (r == 0)
                login->token = token_of_secret(secret);
        if (secret)
                explicit_bzero(secret, n);

        if (!login->token)
                log_warning("The key ring has no token for the Infisical login %s (secret-tool: %s); the sandbox gets none. Log in: "
                                "infisical login .", login->email, r == -ENOENT ? "not installed" : token_failure(r));
        else if (token_expiry(login->token, &expiry) < 0 || expiry <= (int64_t) time(NULL) + STILL_GOOD) {
                log_warning("The Infisical login %s has expired; the sandbox gets no token of it. Log in: infisical login .", login->email);
                explicit_bzero(login->token, strlen(login->token));
                free(TAKE_PTR(login->token));
        }

        return 0;
}

static int select_and_look_up(const Settings *s, Logins *l) {
        STRV_FOREACH(entry, s->infisical) {
                _cleanup_free_ char *shown = str_escape(*entry);
                bool any = false;

                for (size_t i = 0; i < l->n; i++)
                        if (login_matches(&l->items[i], *entry))
                                any = l->items[i].wanted = true;
                if (!any)
                        log_warning("CLAUDE_PROFILE_SANDBOX_INFISICAL names %s, which is no login of Infisical's here.", shown ?: "?");
        }

        l->deadline = now_usec() + TOKEN_HELPER_USEC;
        for (size_t i = 0; i < l->n; i++) {
                int r;

                r = l->items[i].wanted ? look_up(l, &l->items[i]) : 0;
                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_primary(Plan *p, const Login *login) {
        static const char *const names[] = { "INFISICAL_TOKEN", "INFISICAL_API_URL", "INFISICAL_DOMAIN" };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (strv_env_get(p->environment, names[i]))
                        return 0;

        for (size_t i = 0; i < ELEMENTSOF(names) && r >= 0; i++)
                if (i == 0 || *login->domain)
                        r = token_add_variable(p, names[i], i == 0 ? login->token : login->domain);
        return r;
}

static int add_variables(Plan *p, const Logins *l) {
        Json *all = json_object_new_array();
        const Login *primary = NULL;
        int r = 0;

        for (size_t i = 0; i < l->n; i++) {
                const Login *login = &l->items[i];
                Json *o;

                if (!login->token)
                        continue;
                if (!primary || login->active)
                        primary = login;
                o = json_object_new_object();
                (void) json_object_object_add(o, "email", json_object_new_string(login->email));
                (void) json_object_object_add(o, "domain", json_object_new_string(login->domain));
                (void) json_object_object_add(o, "token", json_object_new_string(login->token));
                (void) json_object_array_add(all, o);
        }

        if (primary)
                r = add_primary(p, primary);
        if (primary && r >= 0)
                r = token_add_variable(p, "CLAUDE_SANDBOX_INFISICAL",
                                json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));

        (void) json_object_put(all);
        return r;
}

int plan_infisical(Plan *p) {
        _cleanup_logins_ Logins logins = { 0 };
        _cleanup_free_ char *path = NULL;
        int r;

        path = path_join(p->request->dirs->home, CONFIG);
        if (!path)
                return log_oom();

        r = load_logins(path, &logins);
        if (r < 0) {
                log_warning("There is no login of Infisical's in %s; the sandbox gets none. Log in: infisical login .", path);
                return 0;
        }

        r = select_and_look_up(p->request->settings, &logins);
        return r < 0 ? r : add_variables(p, &logins);
}
