/* SPDX-License-Identifier: MIT */
#pragma once

/* Strings: comparison, prefixes, and making foreign text fit to be shown. */

#include <string.h>

#include "basic/macro.h"

static inline bool streq(const char *a, const char *b) {
        return strcmp(a, b) == 0;
}

static inline bool str_is_empty(const char *s) {
        return !s || s[0] == '\0';
}

/* The rest of `s` behind `prefix`, or NULL. */
const char *str_after_prefix(const char *s, const char *prefix);

bool str_has_suffix(const char *s, const char *suffix);

/* Whether the `n` bytes are well-formed UTF-8 without NUL (no overlong forms, no surrogates, RFC 3629). */
bool utf8_is_valid(const char *s, size_t n);

/* Text that somebody else chose, made fit for a terminal or the journal: control characters (C0, DEL, C1) and bytes that
 * are not UTF-8 become \xNN, and what is longer than `max` bytes of output is cut and ends in "…". The caller frees.
 * NULL when out of memory. */
char *str_escape_n(const char *s, size_t n, size_t max);
char *str_escape(const char *s);
