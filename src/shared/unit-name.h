/* SPDX-License-Identifier: MIT */
#pragma once

/* The names of a launch's units. A profile's name stands verbatim in them; only in a slice's name, where "-" is the path
 * separator, it is escaped. */

#include "basic/macro.h"

#define SANDBOX_SLICE "claude-sandbox.slice"

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
