/* SPDX-License-Identifier: MIT */

#include <stdint.h>

#include "basic/alloc.h"
#include "basic/str.h"

const char *str_after_prefix(const char *s, const char *prefix) {
        size_t n = strlen(prefix);

        return strncmp(s, prefix, n) == 0 ? s + n : NULL;
}

bool str_has_suffix(const char *s, const char *suffix) {
        size_t a = strlen(s), b = strlen(suffix);

        return a >= b && memcmp(s + a - b, suffix, b) == 0;
}

/* The length of the well-formed UTF-8 sequence at `s`, 0 if there is none; its code point in `*ret`. */
static size_t utf8_decode(const unsigned char *s, size_t n, uint32_t *ret) {
        static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
        uint32_t c;
        size_t len;

        if (n == 0)
                return 0;
        if (s[0] < 0x80) {
                *ret = s[0];
                return 1;
        }

        if ((s[0] & 0xe0) == 0xc0) {
                len = 2;
                c = s[0] & 0x1f;
        } else if ((s[0] & 0xf0) == 0xe0) {
                len = 3;
                c = s[0] & 0x0f;
        } else if ((s[0] & 0xf8) == 0xf0) {
                len = 4;
                c = s[0] & 0x07;
        } else
                return 0;

        if (n < len)
                return 0;
        for (size_t i = 1; i < len; i++) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
                c = c << 6 | (s[i] & 0x3f);
        }
        if (c < smallest[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                return 0;

        *ret = c;
        return len;
}

bool utf8_is_valid(const char *s, size_t n) {
        const unsigned char *p = (const unsigned char *) s;

        while (n > 0) {
                uint32_t c;
                size_t len;

                len = utf8_decode(p, n, &c);
                if (len == 0 || c == 0)
                        return false;

                p += len;
                n -= len;
        }

        return true;
}

static bool codepoint_is_safe(uint32_t c) {
        /* C0, DEL and C1 drive terminals; the bidirectional controls and line separators disguise text. */
        if (c < 0x20 || (c >= 0x7f && c < 0xa0))
                return false;
        return !((c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff);
}

char *str_escape_n(const char *s, size_t n, size_t max) {
        static const char hex[] = "0123456789abcdef";
        static const char ellipsis[] = "…";
        const unsigned char *p = (const unsigned char *) s;
        char *out, *q;

        out = q = malloc(MIN(n * 4, max) + sizeof(ellipsis));
        if (!out)
                return NULL;

        while (n > 0) {
                uint32_t c = 0;
                size_t len, need;
                bool safe;

                len = utf8_decode(p, n, &c);
                safe = len > 0 && codepoint_is_safe(c);
                if (len == 0)
                        len = 1;
                need = safe ? len : len * 4;

                if ((size_t) (q - out) + need > max) {
                        q = mempcpy(q, ellipsis, STRLEN("…"));
                        break;
                }

                if (safe)
                        q = mempcpy(q, p, len);
                else
                        for (size_t i = 0; i < len; i++) {
                                *q++ = '\\';
                                *q++ = 'x';
                                *q++ = hex[p[i] >> 4];
                                *q++ = hex[p[i] & 15];
                        }

                p += len;
                n -= len;
        }

        *q = '\0';
        return out;
}

char *str_escape(const char *s) {
        size_t n = strlen(s);

        return str_escape_n(s, n, n * 4);
}
