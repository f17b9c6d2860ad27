/* SPDX-License-Identifier: MIT */

/* Names that a guest chose, made fit to be shown. The first two bytes are the longest length, the rest is the name. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "fuzz.h"

#define ELLIPSIS "…"

/* Whether the text holds a character that drives a terminal or disguises what stands beside it. Valid UTF-8 only. */
static bool is_harmful(const char *s) {
        static const char *const sequences[] = {
                "\x7f", "\u2028", "\u2029", "\u202a", "\u202b", "\u202c", "\u202d", "\u202e",
                "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff",
        };

        for (size_t i = 0; i < ELEMENTSOF(sequences); i++)
                if (strstr(s, sequences[i]))
                        return true;

        for (const unsigned char *p = (const unsigned char *) s; *p; p++)
                if (*p < 0x20 || (*p == 0xc2 && p[1] < 0xa0))
                        return true;

        return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *name = NULL, *shown = NULL, *whole = NULL;
        size_t max, n;

        if (size < 2)
                return 0;

        max = (size_t) data[0] | (size_t) data[1] << 8;
        n = size - 2;
        name = memdup_nul(data + 2, n);
        PROPERTY(name);

        shown = str_escape_n((const char *) data + 2, n, max);
        PROPERTY(shown);
        PROPERTY(strlen(shown) <= max + STRLEN(ELLIPSIS));
        PROPERTY(utf8_is_valid(shown, strlen(shown)) && !is_harmful(shown));

        whole = str_escape_n((const char *) data + 2, n, 4 * n);
        PROPERTY(whole);
        if (strlen(whole) <= max)
                PROPERTY(streq(shown, whole));
        else {
                const size_t kept = strlen(shown) - STRLEN(ELLIPSIS);

                PROPERTY(str_has_suffix(shown, ELLIPSIS) && memcmp(shown, whole, kept) == 0);
        }

        /* What is harmless stays as it is. */
        if (utf8_is_valid(name, n) && !is_harmful(name))
                PROPERTY(streq(whole, name));

        return 0;
}
