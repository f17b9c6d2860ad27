/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Copies the directory `source_fd` to `name`, which must not exist, below `dir_fd`: files with their permissions and times, directories, links as
 * links; sockets, FIFOs and devices are left out. No link is followed, and the size is bounded (-EFBIG), for a guest may have filled
 * the source, and fill it meanwhile. Returns 0 or negative errno; then a part of the copy may be there. */
int copy_tree_at(int source_fd, int dir_fd, const char *name);
