/* SPDX-License-Identifier: MIT */

#include <json-c/json.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/token.h"

bool token_is_sound(const char *text) {
        size_t n = strlen(text);

        for (size_t i = 0; i < n; i++)
                if (text[i] <= ' ' || text[i] > '~')
                        return false;

        return n > 0;
}

static int base64url_digit(char c) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        const char *p = c ? strchr(digits, c) : NULL;

        return p ? (int) (p - digits) : -EINVAL;
}

/* Without padding, as RFC 7515 has it. The caller frees; NULL: no base64url, or out of memory. */
static char *base64url_decode(const char *s, size_t n) {
        char *out = malloc(n / 4 * 3 + 4), *q = out;
        unsigned bits = 0, have = 0;

        for (size_t i = 0; out && i < n; i++) {
                int digit = base64url_digit(s[i]);

                if (digit < 0) {
                        free(out);
                        return NULL;
                }
                bits = (bits << 6 | (unsigned) digit) & 0xffff;
                have += 6;
                if (have >= 8) {
                        have -= 8;
                        *q++ = (char) (bits >> have);
                }
        }
        if (out)
                *q = '\0';

        return out;
}

int token_expiry(const char *token, int64_t *ret) {
        const char *begin = strchr(token, '.'), *end = begin ? strchr(begin + 1, '.') : NULL;
        _cleanup_free_ char *text = NULL;
        struct json_object *o, *expiry;
        int r = -EBADMSG;

        if (!end)
                return -EBADMSG;
        text = base64url_decode(begin + 1, (size_t) (end - begin - 1));
        if (!text)
                return -EBADMSG;

        o = json_tokener_parse(text);
        if (json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, "exp", &expiry) &&
                        (json_object_is_type(expiry, json_type_int) || json_object_is_type(expiry, json_type_double))) {
                *ret = json_object_get_int64(expiry);
                r = 0;
        }

        (void) json_object_put(o);
        return r;
}

int token_ask(char *const *argv, const char *const *passed, size_t n_passed, const char *extra, uint64_t timeout_usec, size_t max,
                char **ret_output, size_t *ret_n) {
        _cleanup_strv_ char **env = NULL;

        if (environment_pick(&env, passed, n_passed) < 0 || (extra && strv_add(&env, extra) < 0))
                return -ENOMEM;

        return subprocess_run(&(Subprocess) { .argv = argv, .env = env, .directory = "/", .timeout_usec = timeout_usec, .output_max = max },
                        ret_output, ret_n);
}

const char *token_failure(int r) {
        return r == -ETIMEDOUT ? "it did not answer within 10 s" : r < 0 ? strerror(-r) : r > 0 ? "it failed" : "its answer is no token";
}

int token_add_variable(Plan *p, const char *name, const char *value) {
        if (strv_env_get(p->environment, name))
                return 0;

        return strv_addf(&p->environment, "%s=%s", name, value) < 0 ? log_oom() : 0;
}
