/* SPDX-License-Identifier: MIT */
#pragma once

/* The names of a launch's units. A profile's name stands verbatim in them; only in a slice's name, where "-" is the path
 * separator, it is escaped. */

#include "basic/macro.h"

#define SANDBOX_SLICE "claude-sandbox.slice"

/* So long a guest may take to end when it is asked to. The scope's own limit, 10 s, is behind it, should nobody be left to
 * count: the manager then kills everything, the launcher included, which is to clear away. */
#define SANDBOX_STOP_USEC (9 * USEC_PER_SEC)

typedef struct LaunchUnits {
        char *supervisor; /* claude-sandbox@<profile>.service */
        char *slice;      /* claude-sandbox-<profile, escaped>.slice */
        char *scope;      /* claude-sandbox-<profile>-<id>.scope */
        char *socket;     /* claude-bridge@<profile>-<id>.socket */
        char *bridge;     /* claude-bridge@<profile>-<id>.service */
} LaunchUnits;

/* Returns 0 or -ENOMEM. */
int launch_units_make(const char *profile, const char *id, LaunchUnits *ret);
void launch_units_clear(LaunchUnits *u);
#define _cleanup_launch_units_ _cleanup_(launch_units_clear)

/* The profile's slice; the caller frees. NULL when out of memory. */
char *profile_slice_name(const char *profile);
