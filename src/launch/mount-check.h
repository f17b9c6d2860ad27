/* SPDX-License-Identifier: MIT */
#pragma once

/* The net under every race with a guest: podman takes paths, so what lies at a path may have changed since it was checked.
 * Before the guest gets its go, what the kernel says is mounted is compared with the plan. */

#include "launch/plan.h"

/* Compares the mounts of the container's process with the plan. Each must be a mount point at exactly its path, of the same file
 * system and directory as its source, and in its mode; with MOUNT_LINKED it may be elsewhere. Returns 0; -EPERM with the sentence in `*ret_why`; -EAGAIN, perhaps with a
 * sentence, while the runtime is not done with them; or negative errno. */
int mounts_check(const Plan *p, pid_t container, char **ret_why);
