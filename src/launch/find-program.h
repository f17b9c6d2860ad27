/* SPDX-License-Identifier: MIT */
#pragma once

/* Looking for a program in $PATH of this process, as execvp() does but for what could be planted or lead in
 * circles. */

#include "basic/macro.h"

typedef enum FindFlags {
        FIND_NOT_OURSELVES = 1 << 0, /* neither this program nor a script that calls it */
} FindFlags;

/* A name with a slash is a path and is only checked. Elements of $PATH that are not absolute are left out:
 * they mean other things in other directories. `*ret` is the caller's; so is `*ret_passed_over`, the first
 * one that FIND_NOT_OURSELVES left out, or NULL. Returns 0, -ENOENT, -EACCES (no execute permission, or no
 * regular file), -ELOOP (a path that FIND_NOT_OURSELVES excludes) or another negative errno. */
int find_program(const char *name, FindFlags flags, char **ret, char **ret_passed_over);
