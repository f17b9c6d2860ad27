/* SPDX-License-Identifier: MIT */
#pragma once

/* Who may ask for what. Every process of the user reaches the socket, a bridge in a guest's hands too, and that of another profile's
 * supervisor as well: so the kernel is asked which process speaks, and systemd in which unit it runs. */

#include <sys/types.h>

#include "supervisor/request.h"

/* The user unit that a process is in, or NULL: none. 0, or negative errno when that cannot be told. In a file of its own, so that a
 * test program outside of systemd can link another. */
int peer_unit(pid_t pid, char **ret);

/* Whether who is in `unit` may send this request to the supervisor of `profile`. Pure: a launch's scope speaks for that launch, a bridge for its own. */
bool peer_may(const char *unit, const char *profile, const Request *request);
