/* SPDX-License-Identifier: MIT */
#pragma once

/* Text to values and back. Every parser takes the whole string or none of it. */

#include "basic/macro.h"

/* 1, true, yes, on / 0, false, no, off in any case. Returns 0 or -EINVAL. */
int parse_bool(const char *s, bool *ret);

/* Decimal digits only, no sign, no blank. Returns 0, -EINVAL, or -ERANGE outside of [min, max]. */
int parse_uint(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/* "512M", "1.5G" (powers of 1024, at most three digits of a fraction), or a number of `unit_without_suffix` bytes. Returns 0, or
 * -EINVAL also for what is no whole number of bytes or does not fit. */
int parse_size(const char *s, uint64_t unit_without_suffix, uint64_t *ret);

/* "150%", "12.5%", "0.25%", in parts of ten thousand. Returns 0 or -EINVAL. */
int parse_permyriad(const char *s, uint64_t *ret);

/* Lower-case hexadecimal: `out` takes 2 * n characters and a NUL. */
void hex_encode(const void *data, size_t n, char *out);

/* Whether `s` is exactly `n` lower-case hexadecimal digits. */
bool hex_is_valid(const char *s, size_t n);
