/* SPDX-License-Identifier: MIT */
#pragma once

/* The life of the command: signals passed on, every process reaped, the status. */

#include <sys/types.h>

#include "guest/events.h"

/* Blocks every signal for this process, so that those which come before supervise() wait for it, and ignores
 * SIGPIPE. */
void supervise_block_signals(void);

/* Runs the event loop until the command has ended, and ends what it has left behind. Returns the command's
 * exit status: 0-255, 128+n for a signal; or negative errno. */
int supervise(Events *events, pid_t command, bool terminal);
