/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Makes `path`, absolute, and what is missing above it, 0700 each. Existing directories stay as they are. Returns a descriptor
 * (O_RDONLY) of the directory or negative errno. */
int mkdir_open(const char *path);
