/* SPDX-License-Identifier: MIT */
#pragma once

/* What the kernel may hold for a connection, which counts as the bridge's memory (MemoryMax= of its unit).
 * Left to itself it takes up to tens of MiB for each when nobody reads. A few connections get what bulk needs;
 * who comes when there are already many gets little. */

#include "basic/macro.h"

/* For the listening socket: what is accepted inherits it. Returns 0 or negative errno. */
int buffers_of_listener(int fd);

/* For a connection that is let in as the n-th of those that are open, and for the Unix socket of the host's
 * that it goes on to. Without effect where the kernel refuses. */
void buffers_of_client(int fd, size_t n_open);
void buffers_of_backend(int fd, size_t n_open);
