/* SPDX-License-Identifier: MIT */
#pragma once

/* Paths as text: nothing here looks at the file system. */

#include "basic/macro.h"

/* `a`, a slash, `b`; the caller frees. NULL when out of memory. */
char *path_join(const char *a, const char *b);

/* Whether `path` is `dir` or lies below it, by whole components; both absolute and normalized. */
bool path_is_within(const char *path, const char *dir);

/* Whether one of the two contains the other. */
bool path_overlaps(const char *a, const char *b);

/* Absolute, without empty, "." or ".." components and without a slash at the end (except "/" itself). */
bool path_is_normalized(const char *path);

/* What follows the last slash. */
const char *path_last(const char *path);
