/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "basic/macro.h"

/* Told how far a copy is that takes time, because no block can be shared: at its beginning, from time to time, at its end. */
typedef void (*CloneProgress)(uint64_t done, uint64_t total, void *userdata);

/* Copies the regular file `source_fd` to `name` below `dir_fd`, sharing its blocks where the file system can (FICLONE, see
 * ioctl_ficlone(2)). It appears whole or not at all: written under a temporary name (".<name>.…"), then renamed over whatever was
 * there. `progress` may be NULL. Returns 0 or negative errno. */
int clone_file_told_at(int source_fd, int dir_fd, const char *name, mode_t mode, CloneProgress progress, void *userdata);

static inline int clone_file_at(int source_fd, int dir_fd, const char *name, mode_t mode) {
        return clone_file_told_at(source_fd, dir_fd, name, mode, NULL, NULL);
}
