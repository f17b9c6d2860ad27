/* SPDX-License-Identifier: MIT */
#pragma once

/* The mount of one guard, made by descriptor: no path is followed that somebody else could change meanwhile. For a process that has
 * CAP_SYS_ADMIN over its own mount name space. Kernels: openat2 5.6, mount_setattr 5.12; open_tree and move_mount are older. Each
 * returns 0, or a descriptor, or negative errno. */

#include "shared/guard-list.h"

/* Opens a place below `root_fd`, which counts as "/", without following a link anywhere: a descriptor (O_PATH). -ELOOP for a link. */
int guard_open_in(int root_fd, const char *path);

/* The same on the host. */
int guard_open_host(const char *path);

/* A clone of what `source_fd` names, with what is mounted below it, attached to nothing yet: a descriptor. It must be part of the
 * caller's mount name space. */
int guard_clone(int source_fd);

/* Gives a clone the guard's mode and puts it over `target_fd`. */
int guard_attach(const Guard *g, int clone_fd, int target_fd);
