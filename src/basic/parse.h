/* SPDX-License-Identifier: MIT */
#pragma once

/* Text to values and back. Every parser takes the whole string or none of it. */

#include "basic/macro.h"

/* 1, true, yes, on / 0, false, no, off in any case. Returns 0 or -EINVAL. */
int parse_bool(const char *s, bool *ret);

/* Decimal digits only, no sign, no blank. Returns 0, -EINVAL, or -ERANGE outside of [min, max]. */
int parse_uint(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/* Lower-case hexadecimal: `out` takes 2 * n characters and a NUL. */
void hex_encode(const void *data, size_t n, char *out);

/* Whether `s` is exactly `n` lower-case hexadecimal digits. */
bool hex_is_valid(const char *s, size_t n);
