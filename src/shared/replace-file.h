/* SPDX-License-Identifier: MIT */
#pragma once

/* Two ways to give a file other content: a new one in its place, or in place where somebody has it mounted.
 */

#include <sys/types.h>

#include "basic/macro.h"

/* ".<name>.<16 random hexadecimal digits>", for what is renamed to `name` later. Returns 0 or negative
 * errno. */
int temporary_name(const char *name, char **ret);

/* Puts a new file of exactly `mode` in the place of whatever `name` is, but a directory: whole or not at
 * all. Returns 0 or negative errno. */
int replace_file_at(int dir_fd, const char *name, mode_t mode, const void *data, size_t n);

/* Writes into the file that is there: a regular one (else -ENOTREG), no link (-ELOOP). Readers may see a
 * mixture meanwhile. Returns 0 or negative errno. */
int overwrite_file_at(int dir_fd, const char *name, mode_t mode, const void *data, size_t n);
