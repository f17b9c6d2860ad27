/* SPDX-License-Identifier: MIT */
#pragma once

/* What a launch writes: its directory in the runtime directory, and the user's data directory. Each returns 0 or negative
 * errno, having said what went wrong. */

#include "launch/plan.h"
#include "shared/podman.h"

/* The planned files, into the locked launch directory. */
int launch_files_write(const Plan *p, int dir_fd, const PodmanAccess *podman);

/* What is kept between launches and mounted: the guest program, the native claude (`*ret_native_fd` holds it in use; may stay
 * -EBADF), the profile's ~/.ssh and the mark "was ever sandboxed". */
int launch_data_prepare(const Plan *p, int *ret_native_fd);

/* The bridge's manifest and the guest's file for it, with a new token. */
int launch_bridge_files_write(const Plan *p, int dir_fd, const char *scope_cgroup, uint16_t port);

/* Writes the go under a hidden name and returns its file's descriptor, for a watch; launch_go_give() makes it appear. Both return
 * negative errno silently. */
int launch_go_prepare(int dir_fd);
int launch_go_give(int dir_fd);
