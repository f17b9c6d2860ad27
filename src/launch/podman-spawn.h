/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "launch/guest-run.h"

/* Starts podman for the plan, in the guest's control group, on this process's terminal and in its process group, with the
 * environment of options->podman. When this process dies, podman gets SIGTERM. Returns 0 with podman's pid, or negative errno; -ENOENT
 * when there is no such program. */
int podman_spawn(const GuestRunOptions *options, pid_t *ret);

/* Says why podman ended by itself, with an exit status, before the guest had taken over. Returns 0 when that status is podman's own,
 * which says as much as ours would, or -ECANCELED. */
int podman_explain_early_end(const GuestRunOptions *options, int status);
