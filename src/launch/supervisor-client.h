/* SPDX-License-Identifier: MIT */
#pragma once

/* The launcher's line to its profile's supervisor, $XDG_RUNTIME_DIR/claude-profile/<profile>.sock: requests and answers are
 * JSON objects, one a line (src/supervisor/connection.c). The connection stands for the launch: when it ends without "done",
 * the supervisor takes the launch for dead and clears it away. */

#include "basic/macro.h"
#include "launch/plan.h"

/* Connects. Returns a descriptor or negative errno. */
int supervisor_connect(const Dirs *dirs, const char *profile);

/* Announces the launch on the connection and waits for the answer. 0 or negative errno. */
int supervisor_hold(int fd, const Plan *p);

/* Asks that the launch's guards be kept in place. The answer comes on the connection. 0 or negative errno. */
int supervisor_guard(int fd);

/* Reads what the supervisor says of the guards, without waiting. 1: they are kept. 0: they are not, and why, as far as it says that, is
 * in `*ret_why`, which the caller frees. -EAGAIN: nothing yet; -ECONNRESET: its end; or other negative errno. */
int supervisor_read_guard_answer(int fd, char **ret_why);

/* Asks for a running gpg-agent, on a connection of its own. 1: it runs; 0: it could not be started; or negative errno. */
int supervisor_start_gpg_agent(const Dirs *dirs, const char *profile);

/* Says that the launch ended in good order; `status` is its exit status. Errors do not matter any more. */
void supervisor_done(int fd, int status);
