/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's native claude binary, …/claude/versions/<version>, and our copy of it: the sandbox runs the version that the
 * host runs, from a file that relabelling may touch. */

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/settings.h"

typedef struct NativeClaude {
        char *source;  /* links resolved */
        char *version;
        char *copy;    /* <data>/claude/<version>, whether it exists or not */
} NativeClaude;

/* Finds it from the setting or in PATH. 1; 0: claude is not installed that way; negative errno. */
int native_claude_find(const Dirs *dirs, const Settings *settings, NativeClaude *ret);
void native_claude_clear(NativeClaude *c);

/* Makes the copy unless it is there: a reflink where the file system can (FICLONE), else a plain copy, which says on a terminal how
 * far it is. Any number of launches may do so at once; all get the same one. Then removes copies of older versions, and what copies
 * that were cut off left, but none that a launch uses or is making. Returns a descriptor of the copy with a
 * shared lock on it, which says "in use", or negative errno. */
int native_claude_copy(const NativeClaude *c, const Dirs *dirs);
