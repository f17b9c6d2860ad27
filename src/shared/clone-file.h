/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "basic/macro.h"

/* Told how far a copy is that takes time, because no block can be shared: at its beginning, from time to time, at its end. */
typedef void (*CloneProgress)(uint64_t done, uint64_t total, void *userdata);

/* Copies all of the regular file `source_fd` to the empty one `target_fd`, sharing its blocks where the file system can (FICLONE, see
 * ioctl_ficlone(2)). `progress` may be NULL. Returns 0 or negative errno; then `target_fd` holds some of it. */
int clone_contents(int source_fd, int target_fd, CloneProgress progress, void *userdata);

/* Copies the regular file `source_fd` to `name` below `dir_fd`. It appears whole or not at all: written under a temporary name (".<name>.…"),
 * then renamed over whatever was there. Returns 0 or negative errno. */
int clone_file_at(int source_fd, int dir_fd, const char *name, mode_t mode);
