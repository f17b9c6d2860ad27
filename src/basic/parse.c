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

/* Digits, perhaps a fraction of at most `digits`, which is returned in units of the last of them. Returns what follows, or NULL. */
static const char *parse_decimal(const char *s, unsigned digits, uint64_t *ret_whole, uint64_t *ret_fraction) {
        uint64_t whole = 0, fraction = 0;
        const char *p = s;

        for (; *p >= '0' && *p <= '9'; p++)
                if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, (uint64_t) (*p - '0'), &whole))
                        return NULL;
        if (p == s)
                return NULL;

        if (*p == '.') {
                const char *point = p++;

                for (; *p >= '0' && *p <= '9'; p++)
                        if (digits-- == 0)
                                return NULL;
                        else
                                fraction = 10 * fraction + (uint64_t) (*p - '0');
                if (p == point + 1)
                        return NULL;
                while (digits-- > 0)
                        fraction *= 10;
        }

        *ret_whole = whole;
        *ret_fraction = fraction;
        return p;
}

int parse_size(const char *s, uint64_t unit_without_suffix, uint64_t *ret) {
        static const char suffixes[] = "BKMGTPE";
        uint64_t whole, thousandths, unit = unit_without_suffix, part, bytes;

        s = parse_decimal(s, 3, &whole, &thousandths);
        if (!s)
                return -EINVAL;

        if (*s) {
                const char *suffix = strchr(suffixes, *s);

                if (!suffix || s[1])
                        return -EINVAL;
                unit = (uint64_t) 1 << (10 * (suffix - suffixes));
        }

        if (__builtin_mul_overflow(thousandths, unit, &part) ||
                        __builtin_mul_overflow(whole, unit, &bytes) ||
                        __builtin_add_overflow(bytes, part / 1000, &bytes))
                return -EINVAL;
        if (thousandths > 0 && unit == 1)
                return -EINVAL;

        *ret = bytes;
        return 0;
}

int parse_permyriad(const char *s, uint64_t *ret) {
        uint64_t whole, hundredths;

        s = parse_decimal(s, 2, &whole, &hundredths);
        if (!s || !streq(s, "%") || __builtin_mul_overflow(whole, 100, &whole) ||
                        __builtin_add_overflow(whole, hundredths, ret))
                return -EINVAL;

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
