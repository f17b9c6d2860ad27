/* SPDX-License-Identifier: MIT */
#pragma once

/* Vectors of strings, NULL at the end, as execve() takes them. Every string and the vector itself are malloc()ed. */

#include "basic/macro.h"

void strv_free(char **v);
DEFINE_CLEANUP(char **, strv_free);
#define _cleanup_strv_ _cleanup_(strv_freep)

#define STRV_FOREACH(s, v) for (char *const *s = (v); s && *s; s++)

size_t strv_length(char *const *v);
bool strv_contains(char *const *v, const char *s);

/* Each adds at the end and returns 0 or -ENOMEM. strv_take() owns `s` from entry on, on failure too. */
int strv_take(char ***v, char *s);
int strv_add(char ***v, const char *s);
int strv_addf(char ***v, const char *format, ...) _printf_(2, 3);
int strv_add_many(char ***v, ...) _sentinel_;
int strv_extend(char ***v, char *const *more);

/* The value of the last `name=…` in an environment vector, or NULL. */
const char *strv_env_get(char *const *v, const char *name);

/* Splits at `separator`, trims blanks, leaves empty items out. Returns 0 or -ENOMEM. */
int strv_split(const char *s, char separator, char ***ret);
