/* SPDX-License-Identifier: MIT */
#pragma once

/* Clearing away after a launcher that died. These run in a child process of the supervisor, block as long as it takes, and
 * return an exit status. Messages go to standard error. */

#include "shared/dirs.h"

/* The launch with the directory `name` ("<profile>-<id>"): stops its units, removes its container and then its directory. Does
 * nothing if its launcher lives. */
int sweep_launch(const Dirs *dirs, const char *name);

/* The bridge of a launch that has ended. The manager ends it, but one in a guest's hands can put its own end off again and again
 * (EXTEND_TIMEOUT_USEC=, see sd_notify(3)): it gets SIGKILL. */
int sweep_bridge(const Dirs *dirs, const char *profile, const char *id);

/* Containers of the profile in podman's database that have no launch directory: a machine that lost power, a runtime directory
 * that was cleared. */
int sweep_containers(const Dirs *dirs, const char *profile);

/* Makes the user manager start the gpg-agent with its restricted socket. */
int start_gpg_agent(const Dirs *dirs);
