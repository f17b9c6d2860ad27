/* SPDX-License-Identifier: MIT */

/* The profile's .env. The input is a text, and behind a NUL a value that KEY is set to in it: it is read back as it was
 * written, and every other variable is as it was before. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "fuzz.h"
#include "shared/env-edit.h"
#include "shared/env-file.h"

#define KEY "KEY"

static void check_sentences(char *const *warnings, const char *error) {
        STRV_FOREACH(s, warnings)
                PROPERTY(utf8_is_valid(*s, strlen(*s)) && !strpbrk(*s, "\n\033"));
        if (error)
                PROPERTY(utf8_is_valid(error, strlen(error)) && !strpbrk(error, "\n\033"));
}

static void check_variables(char *const *env) {
        STRV_FOREACH(s, env) {
                const size_t n = strcspn(*s, "=");

                PROPERTY((*s)[n] == '=' && env_name_is_valid(*s, n) && !env_name_reserved(*s, n));
                PROPERTY(!str_after_prefix(*s, "CLAUDE_PROFILE_"));
                PROPERTY(strlen(*s) < ENV_ENTRY_MAX && utf8_is_valid(*s, strlen(*s)));
                STRV_FOREACH(later, s + 1)
                        PROPERTY(strncmp(*s, *later, n + 1) != 0);
        }
}

/* The variables of the text, or NULL when it is refused. */
static char **parse(const char *text, size_t n) {
        _cleanup_strv_ char **warnings = NULL;
        _cleanup_free_ char *error = NULL;
        char **env = NULL;
        int r;

        r = env_parse(text, n, &env, &warnings, &error);
        check_sentences(warnings, error);
        if (r < 0) {
                PROPERTY(r == -EBADMSG && error && !env && !warnings);
                return NULL;
        }

        PROPERTY(env && !error);
        check_variables(env);
        return env;
}

/* Both without KEY are the same, in the same order. */
static void check_others(char *const *a, char *const *b) {
        for (;;) {
                while (*a && str_after_prefix(*a, KEY "="))
                        a++;
                while (*b && str_after_prefix(*b, KEY "="))
                        b++;
                if (!*a || !*b)
                        break;
                PROPERTY(streq(*a++, *b++));
        }

        PROPERTY(!*a && !*b);
}

static void check_edit(const char *text, size_t n, char *const *env, char *const *set, char *const *unset,
                const char *expected) {
        _cleanup_free_ char *edited = NULL, *twice = NULL;
        _cleanup_strv_ char **after = NULL;
        size_t n_edited, n_twice;
        const char *value;

        PROPERTY(env_edit(text, n, set, unset, &edited, &n_edited) == 0);
        PROPERTY(env_text_has(edited, n_edited, KEY) == (expected != NULL));

        PROPERTY(env_edit(edited, n_edited, set, unset, &twice, &n_twice) == 0);
        PROPERTY(n_edited == n_twice && memcmp(edited, twice, n_twice) == 0);

        /* What cannot be read cannot be compared. */
        if (!env)
                return;

        after = parse(edited, n_edited);
        PROPERTY(after);
        check_others(env, after);
        value = strv_env_get(after, KEY);
        PROPERTY(expected ? value && streq(value, expected) : !value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const uint8_t *nul = memchr(data, '\0', size);
        const size_t n = nul ? (size_t) (nul - data) : size;
        _cleanup_free_ char *value = NULL, *assignment = NULL;
        char *const none[] = { NULL }, *const key[] = { (char *) KEY, NULL };
        const char *text = (const char *) data;
        _cleanup_strv_ char **env = NULL;

        /* All of it is a text, too. */
        strv_free(parse(text, size));
        env = parse(text, n);
        check_edit(text, n, env, none, key, NULL);

        value = nul ? memdup_nul(nul + 1, size - n - 1) : strdup("");
        PROPERTY(value);
        if (!utf8_is_valid(value, strlen(value)))
                return 0;

        PROPERTY(asprintf_to(&assignment, "%s=%s", KEY, value) == 0);
        check_edit(text, n, env, (char *const[]){ assignment, NULL }, none, value);
        return 0;
}
