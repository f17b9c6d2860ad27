/* SPDX-License-Identifier: MIT */
#pragma once

/* The guests' connections that have ended on our side. TCP resets a connection that is closed while its peer
 * has sent something, or sends more, and what was still on its way to the peer is lost: the end of an answer.
 * So the peer is told that nothing more comes, and what it sends is read away until it closes, too; for a
 * bounded time, a bounded number of bytes, and a bounded number of connections. */

#include <systemd/sd-event.h>

#include "bridge/poll-set.h"

#define LINGER_MAX 64 /* connections; of more the oldest is closed */

typedef struct Linger Linger;

/* `ready` must outlive it. Returns 0 or negative errno. */
int linger_new(sd_event *event, PollSet *ready, Linger **ret);

/* Closes them all. */
Linger *linger_free(Linger *l);

/* Takes the descriptor over: that of a connected TCP socket, non-blocking, in no poll set. A timer may have
 * been armed. */
void linger_take(Linger *l, int fd);
