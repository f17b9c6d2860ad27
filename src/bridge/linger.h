/* SPDX-License-Identifier: MIT */
#pragma once

/* The guests' connections that have ended on our side, with something left to do for the kernel:
 *
 * - TCP resets a connection that is closed while its peer has sent something, or sends more, and what was still
 *   on its way to the peer is lost: the end of an answer. So the peer is told that nothing more comes, and what
 *   it sends is read away until it closes, too.
 * - What the peer has no room for stays in the kernel's memory, megabytes of it, also when the descriptor is
 *   closed; nobody would know how many such there are.
 *
 * Both for a bounded time in which nothing moves, and for a bounded number of connections; then the rest is
 * given up. */

#include <systemd/sd-event.h>

#include "bridge/poll-set.h"

#define LINGER_MAX 64 /* connections; of more the one goes that has stood still for longest */

typedef struct Linger Linger;

/* `ready` must outlive it. Returns 0 or negative errno. */
int linger_new(sd_event *event, PollSet *ready, Linger **ret);

/* Ends them all. */
Linger *linger_free(Linger *l);

/* Takes the descriptor over: that of a connected TCP socket, non-blocking, in no poll set. `ended`: its peer has
 * sent its last. A timer may have been armed. */
void linger_take(Linger *l, int fd, bool ended);

/* Closes such a descriptor now. What its peer has no room for goes, too, and the peer learns that. */
void linger_give_up(int fd);
