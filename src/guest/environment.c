/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "guest/environment.h"

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* What was meant for the entry point alone. Descriptors are not passed on, so nothing may speak of any. */
static const char *const plumbing[] = {
        GUEST_ENV_FORWARDS,
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

static int env_set_path(char ***env) {
        const char *path = strv_env_get(*env, "PATH");
        char *assignment;
        int r;

        r = asprintf_to(&assignment, "PATH=%s:%s/.local/bin:%s", GUEST_BIN, GUEST_HOME,
                        str_is_empty(path) ? PATH_DEFAULT : path);
        return r < 0 ? r : env_take(env, assignment);
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

        /* The variables that name the host's CA bundle have their place here, as part of the contract. */
        for (size_t i = 0; i < ELEMENTSOF(contract) && r >= 0; i++)
                if (contract[i].value)
                        r = env_set(&env, contract[i].name, contract[i].value);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(env);
        return 0;
}
