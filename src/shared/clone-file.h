/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "basic/macro.h"

/* Copies the regular file `source_fd` to `name` below `dir_fd`, sharing its blocks where the file system can (FICLONE, see
 * ioctl_ficlone(2)). It appears whole or not at all: written under a temporary name, then renamed over whatever was there.
 * Returns 0 or negative errno. */
int clone_file_at(int source_fd, int dir_fd, const char *name, mode_t mode);
