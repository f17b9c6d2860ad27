/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "launch/guest-run.h"

/* Starts podman for the plan, in the guest's control group, on this process's terminal and in its process group, with the
 * environment of options->podman. When this process dies, podman gets SIGTERM. Returns 0 with podman's pid, or negative errno; -ENOENT
 * when there is no such program. */
int podman_spawn(const GuestRunOptions *options, pid_t *ret);

/* Says what to do about a podman that failed (exit status 125 to 127) before the guest took over. */
void podman_explain_failure(const GuestRunOptions *options, int status);
