/* SPDX-License-Identifier: MIT */
#pragma once

/* Control groups by number: the kernel's id of a control group is the inode number of its directory, which
 * it does not use twice. Every walk is bounded. */

#include "basic/macro.h"

/* Where cgroup2 is mounted: "/sys/fs/cgroup", or "/sys/fs/cgroup/unified" beside version 1. NULL when
 * nowhere. */
const char *cgroup_tree_mount(void);

/* Looks for control group `id` in `path` (below `mount`) and everything below it, but in no more than `max`
 * directories. Returns 1 with its path below the mount, which is the caller's, when `ret_path` is not NULL;
 * 0 when it is not there; or negative errno: -E2BIG when the limit was reached. */
int cgroup_tree_find(const char *mount, const char *path, uint64_t id, size_t max, char **ret_path);
