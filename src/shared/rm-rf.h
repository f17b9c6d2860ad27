/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Removes `name` below `dir_fd` and all below it, however deep, never following a link nor leaving the file system it starts on, also
 * while somebody else still writes there (bounded: then -ENOTEMPTY). Nothing of that name is a success. Returns 0 or negative errno. */
int rm_rf_at(int dir_fd, const char *name);
