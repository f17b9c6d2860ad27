/* SPDX-License-Identifier: MIT */
#pragma once

/* The forwarder: for each connection on one of the guest's sockets a connection to the bridge, with the
 * handshake in front, and a relay between the two. It lives as long as the process. */

#include "basic/macro.h"
#include "guest/bridge.h"
#include "guest/events.h"
#include "guest/forward-list.h"

/* Connections at a time; further ones wait in the kernel until one ends. Fewer where the descriptor limit is
 * low. */
#define FORWARD_CONNECTIONS_MAX 1024

typedef struct Forwarder Forwarder;

/* `max_fds` is the number of descriptors that this process may have. Returns 0 or negative errno. */
int forwarder_new(Events *events, const Bridge *bridge, size_t max_fds, Forwarder **ret);

/* Serves a listening, non-blocking socket from now on; owns it from entry on. At most FORWARDS_MAX. Returns
 * 0 or negative errno. */
int forwarder_add(Forwarder *f, int fd, ServiceId service);

/* Binds the socket of a forward: mode 0600 and owned by the guest's user, in a directory of its own that
 * nobody else can enter. What a process left behind is replaced; a socket that somebody serves is not
 * (-EADDRINUSE), nor anything that is no socket (-EEXIST). A directory that others use too is refused
 * (-EPERM). Returns the descriptor or negative errno. */
int forward_bind(const char *path);
