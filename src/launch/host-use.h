/* SPDX-License-Identifier: MIT */
#pragma once

/* Launches on the host leave no process of ours behind that could tell of them. But claude keeps the
 * environment that it was started with, and there stands its profile. */

#include <sys/types.h>

#include "basic/macro.h"

/* Looks for a process of this user that is `program` (its name, not its path) and was started with
 * CLAUDE_CONFIG_DIR=`directory`. Returns 1 with its pid, 0, or negative errno. */
int host_use_find(const char *program, const char *directory, pid_t *ret);
