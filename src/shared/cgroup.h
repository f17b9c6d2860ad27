/* SPDX-License-Identifier: MIT */
#pragma once

/* The control groups inside a launch's scope: `launcher` for this process, `guest` for podman and all below it. Where controllers
 * are delegated, a group that enables them for its children may hold no process itself (cgroups(7)). */

#include "basic/macro.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

/* `scope` is the scope's path as /proc/self/cgroup has it. Makes both groups and moves this process into `launcher`. Returns a
 * descriptor of `guest` or negative errno. */
int cgroup_enter(const char *scope);

/* Moves the calling process into the group. Async-signal-safe. 0 or negative errno. */
int cgroup_join(int group_fd);

/* Kills every process in the group and below it. 0 or negative errno. */
int cgroup_kill(int group_fd);

/* Whether a process is left in the group or below it: 1, 0 or negative errno. */
int cgroup_is_populated(int group_fd);

/* Waits, bounded, until none is left. 0 or -ETIMEDOUT. */
int cgroup_wait_empty(int group_fd, uint64_t timeout_usec);

/* Stops every process in the group and below it, or lets them go on. Freezing is only asked for: it takes a moment. */
int cgroup_freeze(int group_fd, bool freeze);

/* Waits, bounded, until all of them stand still. 0 or -ETIMEDOUT. */
int cgroup_wait_frozen(int group_fd, uint64_t timeout_usec);
