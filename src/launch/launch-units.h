/* SPDX-License-Identifier: MIT */
#pragma once

/* The transient units of a launch: its scope and its bridge's socket (spec: claude-sandbox(7)). */

#include <systemd/sd-bus.h>

#include "launch/plan.h"
#include "shared/bus.h"

/* Asks for the scope with this process in it and returns at once; scope_wait() waits until it is there, and checks that the
 * scope and the supervisor run and that this process is inside: `*ret_cgroup` is the scope's control group, the caller's. Both
 * return 0 or negative errno; scope_wait() has said why. */
int scope_request(sd_bus *bus, const Plan *p, Job *job);
int scope_wait(sd_bus *bus, const Plan *p, Job *job, char **ret_cgroup);

/* For a launch that ends between the two: a scope that gets its process when that has just ended would stay for good. */
void scope_abandon(sd_bus *bus, const Plan *p);

/* Starts the socket unit on a free port of 127.0.0.1, which the manager listens on from then. Returns 0 or negative errno,
 * having said why. */
int bridge_socket_start(sd_bus *bus, const Plan *p, uint16_t *ret_port);
