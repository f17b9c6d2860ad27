/* SPDX-License-Identifier: MIT */
#pragma once

/* Changing variables in the text of an .env file: a pure function. Lines that are not concerned stay byte
 * for byte, comments, line ends and odd lines included. */

#include "basic/macro.h"

/* Sets each "KEY=VALUE" of `set` and removes each name in `unset`. A key that the text has keeps its place;
 * of several lines of it only the last one is left. A value is quoted where it needs to be. `*ret` has a NUL
 * behind its `*ret_n` bytes. Returns 0 or -ENOMEM. */
int env_edit(const char *text, size_t n, char *const *set, char *const *unset, char **ret, size_t *ret_n);

/* Whether `key` is assigned anywhere in the text. */
bool env_text_has(const char *text, size_t n, const char *key);

/* The value as it is written behind "KEY="; the caller frees. NULL when out of memory. */
char *env_quote(const char *value);
