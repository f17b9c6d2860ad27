/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "guest/environment.h"

#define LOCAL_BIN GUEST_HOME "/.local/bin"
#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What was meant for the entry point alone. Descriptors are not passed on, so nothing may speak of any. */
static const char *const plumbing[] = {
        GUEST_ENV_FORWARDS,
        GUEST_ENV_RAM,
        GUEST_ENV_TRUST,
        "LISTEN_FDS",
        "LISTEN_FDNAMES",
        "LISTEN_PID",
        "NOTIFY_SOCKET",
};

static bool name_is_plumbing(const char *assignment, size_t n) {
        for (size_t i = 0; i < ELEMENTSOF(plumbing); i++)
                if (strlen(plumbing[i]) == n && memcmp(plumbing[i], assignment, n) == 0)
                        return true;
        return false;
}

/* Sets the variable of `assignment`, which is owned from entry on. */
static int env_take(char ***env, char *assignment) {
        size_t n;

        if (!assignment)
                return -ENOMEM;

        n = strcspn(assignment, "=");
        for (char **s = *env; s && *s; s++)
                if (strncmp(*s, assignment, n) == 0 && (*s)[n] == '=') {
                        free(*s);
                        *s = assignment;
                        return 0;
                }

        return strv_take(env, assignment);
}

static int env_set(char ***env, const char *name, const char *value) {
        char *assignment;
        int r;

        r = asprintf_to(&assignment, "%s=%s", name, value);
        return r < 0 ? r : env_take(env, assignment);
}

static int env_add_all(char ***env, char *const *more) {
        STRV_FOREACH(s, more) {
                size_t n = strcspn(*s, "=");
                int r;

                if (n == 0 || (*s)[n] == '\0' || name_is_plumbing(*s, n))
                        continue;

                r = env_take(env, strdup(*s));
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Appends a directory to a search path, unless it is one of ours, which come first anyway. */
static int path_add(char **path, const char *directory, size_t n) {
        char *longer;
        int r;

        if ((n == STRLEN(GUEST_BIN) && memcmp(directory, GUEST_BIN, n) == 0) ||
                        (n == STRLEN(LOCAL_BIN) && memcmp(directory, LOCAL_BIN, n) == 0))
                return 0;

        r = asprintf_to(&longer, "%s:%.*s", *path, (int) n, directory);
        if (r < 0)
                return r;

        free(*path);
        *path = longer;
        return 0;
}

static int env_set_path(char ***env) {
        const char *rest = strv_env_get(*env, "PATH");
        _cleanup_free_ char *path = strdup(GUEST_BIN ":" LOCAL_BIN);

        if (!path)
                return -ENOMEM;
        if (str_is_empty(rest))
                rest = PATH_DEFAULT;

        for (size_t n;; rest += n + 1) {
                int r;

                n = strcspn(rest, ":");
                r = path_add(&path, rest, n);
                if (r < 0)
                        return r;
                if (rest[n] == '\0')
                        break;
        }

        return env_set(env, "PATH", path);
}

int environment_build(const EnvironmentOptions *o, char ***ret) {
        _cleanup_strv_ char **env = NULL;
        struct {
                const char *name;
                const char *value; /* NULL: left as it is */
        } const contract[] = {
                { "HOME", GUEST_HOME },
                { "USER", GUEST_USER },
                { "LOGNAME", GUEST_USER },
                { "SHELL", o->shell },
                { "SSH_AUTH_SOCK", o->ssh_auth_sock },
                { "GNUPGHOME", o->gpg ? GUEST_GNUPG_DIR : NULL },
        };
        int r;

        r = env_add_all(&env, o->image);
        if (r >= 0)
                r = env_add_all(&env, o->launch);
        if (r >= 0)
                r = env_set_path(&env);

        for (size_t i = 0; i < ELEMENTSOF(contract) && r >= 0; i++)
                if (contract[i].value)
                        r = env_set(&env, contract[i].name, contract[i].value);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(env);
        return 0;
}
