/* SPDX-License-Identifier: MIT */
#pragma once

/* Accepting: at once while there is room, later when there is none or descriptors are used up. */

#include "bridge/manager.h"

/* Checks that the listening socket is one for 127.0.0.1, sets it up, tells its address. Returns 0 or
 * negative errno. */
int accept_prepare(int listen_fd, struct sockaddr_in *ret);

/* Begins to accept. Returns 0 or negative errno. */
int accept_start(Manager *m);

/* Room has been made. */
void accept_resume(Manager *m);
