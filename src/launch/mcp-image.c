/* SPDX-License-Identifier: MIT */

#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/mcp-image.h"

#define NAME_MAX_LENGTH 512

/* Options that take no value, of podman and docker alike. Any other one takes one, in the same word behind "=" or in the next: so new
 * options with values, which are the most, need no entry. */
static const char *const global_flags[] = {
        "debug", "help", "noout", "remote", "syslog", "tls", "tlsverify", "trace", "transient-store", "version",
};
static const char *const run_flags[] = {
        "detach", "disable-content-trust", "env-host", "help", "http-proxy", "init", "interactive", "no-healthcheck", "no-hostname",
        "no-hosts", "oom-kill-disable", "passwd", "privileged", "publish-all", "quiet", "read-only", "read-only-tmpfs", "replace", "rm",
        "rmi", "rootfs", "sig-proxy", "tls-verify", "tty", "unsetenv-all", "use-api-socket",
};

/* The same as letters, of which several may stand in one word. */
#define GLOBAL_LETTERS "Drv"
#define RUN_LETTERS "diPqt"

typedef struct OptionKind {
        const char *const *flags;
        size_t n_flags;
        const char *letters;
} OptionKind;

static const OptionKind global_options = { global_flags, ELEMENTSOF(global_flags), GLOBAL_LETTERS };
static const OptionKind run_options = { run_flags, ELEMENTSOF(run_flags), RUN_LETTERS };

static bool long_takes_next(const OptionKind *kind, const char *name) {
        if (strchr(name, '='))
                return false;
        for (size_t i = 0; i < kind->n_flags; i++)
                if (streq(kind->flags[i], name))
                        return false;

        return true;
}

/* "-it" are two flags, "-itp" wants the next word, "-itp8080" and "-p=8080" have theirs. */
static bool letters_take_next(const OptionKind *kind, const char *letters) {
        letters += strspn(letters, kind->letters);

        return letters[0] != '\0' && letters[0] != '=' && letters[1] == '\0';
}

/* The first word that is no option and no option's value; NULL: none. */
static char *const *skip_options(const OptionKind *kind, char *const *args) {
        for (; *args && (*args)[0] == '-' && (*args)[1] != '\0'; args++) {
                if (streq(*args, "--"))
                        return args + 1;
                if ((*args)[1] == '-' ? long_takes_next(kind, *args + 2) : letters_take_next(kind, *args + 1)) {
                        args++;
                        if (!*args)
                                return args;
                }
        }

        return args;
}

/* A directory instead of an image. */
static bool has_rootfs(char *const *args, char *const *end) {
        for (; args < end; args++)
                if (streq(*args, "--rootfs") || streq(*args, "--rootfs=true"))
                        return true;

        return false;
}

bool mcp_image_is_valid(const char *name) {
        static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
        size_t n = strlen(name);

        return n > 0 && n <= NAME_MAX_LENGTH && strchr(first, name[0]) &&
                strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@+") == n;
}

const char *mcp_image_of(const char *program, char *const *args) {
        const char *name = path_last(program);
        char *const *options, *const *image;

        if ((!streq(name, "podman") && !streq(name, "docker")) || !args)
                return NULL;

        args = skip_options(&global_options, args);
        if (*args && streq(*args, "container"))
                args++;
        if (!*args || !streq(*args, "run"))
                return NULL;

        options = args + 1;
        image = skip_options(&run_options, options);
        return *image && !has_rootfs(options, image) && mcp_image_is_valid(*image) ? *image : NULL;
}
