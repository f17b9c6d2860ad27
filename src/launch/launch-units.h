/* SPDX-License-Identifier: MIT */
#pragma once

/* The transient units of a launch: its scope and its bridge's socket (spec: claude-sandbox(7)). */

#include <systemd/sd-bus.h>

#include "launch/plan.h"
#include "shared/bus.h"

/* Asks for the scope with this process in it and returns at once; scope_wait() waits until it is there, and checks that the
 * scope is active and that this process is inside: `*ret_cgroup` is the scope's control group, the caller's. Both
 * return 0 or negative errno; scope_wait() has said why. */
int scope_request(sd_bus *bus, const Plan *p, Job *job);
int scope_wait(sd_bus *bus, const Plan *p, Job *job, char **ret_cgroup);

/* For a launch that ends between the two: a scope that gets its process when that has just ended would stay for good. */
void scope_abandon(sd_bus *bus, const Plan *p);

/* The socket unit, on a port of 127.0.0.1 that the manager itself listens on from then. Zero-initialize. */
typedef struct BridgeSocket {
        Job job;
        uint16_t port;
        bool asked;
} BridgeSocket;

/* Asks for it and returns at once, also while the scope that it is bound to is still being started. 0 or negative errno. */
int bridge_socket_request(sd_bus *bus, const Plan *p, BridgeSocket *s);

/* Waits until it listens, and takes another port when that of the request was taken by somebody else; asks first if need be. The
 * scope must be there. 0 with `s->port`, or negative errno, having said why. */
int bridge_socket_wait(sd_bus *bus, const Plan *p, BridgeSocket *s);
