/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory of one launch, $XDG_RUNTIME_DIR/claude-profile/<profile>-<id>/. Its launcher holds a lock (flock) on it for
 * its whole life; the kernel drops the lock however the launcher ends, so a directory without one is a remain. */

#include "basic/macro.h"
#include "shared/dirs.h"

#define LAUNCH_ID_LENGTH 8

/* Splits "<profile>-<id>". Returns 0 or -EINVAL; `*ret_profile` is the caller's, `*ret_id` points into `name`. */
int launch_dir_parse_name(const char *name, char **ret_profile, const char **ret_id);

/* Whether any launch of `profile` runs: 1, 0 or negative errno. No runtime directory: 0. */
int launch_any_alive(const Dirs *dirs, const char *profile);
