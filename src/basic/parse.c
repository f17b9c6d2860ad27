/* SPDX-License-Identifier: MIT */

#include <strings.h>

#include "basic/parse.h"
#include "basic/str.h"

int parse_bool(const char *s, bool *ret) {
        static const char *const yes[] = { "1", "true", "yes", "on" };
        static const char *const no[] = { "0", "false", "no", "off" };

        for (size_t i = 0; i < ELEMENTSOF(yes); i++)
                if (strcasecmp(s, yes[i]) == 0) {
                        *ret = true;
                        return 0;
                }
        for (size_t i = 0; i < ELEMENTSOF(no); i++)
                if (strcasecmp(s, no[i]) == 0) {
                        *ret = false;
                        return 0;
                }

        return -EINVAL;
}

int parse_uint(const char *s, uint64_t min, uint64_t max, uint64_t *ret) {
        uint64_t v = 0;

        if (*s == '\0')
                return -EINVAL;

        for (; *s; s++) {
                if (*s < '0' || *s > '9')
                        return -EINVAL;
                if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t) (*s - '0'), &v))
                        return -ERANGE;
        }

        if (v < min || v > max)
                return -ERANGE;

        *ret = v;
        return 0;
}

void hex_encode(const void *data, size_t n, char *out) {
        static const char digits[] = "0123456789abcdef";
        const unsigned char *p = data;

        for (size_t i = 0; i < n; i++) {
                *out++ = digits[p[i] >> 4];
                *out++ = digits[p[i] & 15];
        }
        *out = '\0';
}

bool hex_is_valid(const char *s, size_t n) {
        return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}
