/* SPDX-License-Identifier: MIT */
#pragma once

/* Allocation: typed, overflow-checked, with a cleanup attribute for locals. */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"

static inline void freep(void *p) {
        free(*(void **) p);
}
#define _cleanup_free_ _cleanup_(freep)

#define new(type, n) ((type *) reallocarray(NULL, (n), sizeof(type)))
#define new0(type, n) ((type *) calloc((n), sizeof(type)))

/* Makes room for `n` items in a vector, doubling; `*p` stays valid on failure. Returns 0 or -ENOMEM. */
int grow(void *p, size_t *allocated, size_t n, size_t item_size);

/* Copies `n` bytes and adds a NUL behind them, so that the copy can be used as a string. NULL when out of memory. */
void *memdup_nul(const void *p, size_t n);

/* Replaces the string in `*p` by a copy of `s` (NULL allowed). Returns 0 or -ENOMEM; `*p` is kept on failure. */
int strdup_to(char **p, const char *s);

/* asprintf() and vasprintf() with negative errno. */
int asprintf_to(char **ret, const char *format, ...) _printf_(2, 3);
int vasprintf_to(char **ret, const char *format, va_list ap) _printf_(2, 0);
