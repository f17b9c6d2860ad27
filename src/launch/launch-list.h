/* SPDX-License-Identifier: MIT */
#pragma once

/* The launches that run, for the commands that show and end them. */

#include <systemd/sd-bus.h>

#include "shared/dirs.h"
#include "shared/launch-dir.h"
#include "shared/unit-name.h"

typedef struct RunningLaunch {
        char *profile;
        char id[LAUNCH_ID_LENGTH + 1];
        LaunchUnits units;
        char *directory;     /* where it was started; NULL: not known */
        char **services;     /* of its bridge: "ssh-0", "gpg"; NULL: it has none */
        char *bridge;        /* what the bridge says of itself; NULL: it is not running */
        uint64_t since_usec; /* CLOCK_REALTIME; 0: not known, and so are the next two when UINT64_MAX */
        uint64_t memory;     /* bytes */
        uint64_t cpu_nsec;
} RunningLaunch;

typedef struct LaunchList {
        RunningLaunch *items;
        size_t n, allocated;
} LaunchList;

/* Those of `profile`, or all (NULL), oldest first. `bus` may be NULL: what the manager knows of them is left out. 0 or negative
 * errno. */
int launch_list_load(const Dirs *dirs, const char *profile, sd_bus *bus, LaunchList *ret);
void launch_list_clear(LaunchList *l);
#define _cleanup_launch_list_ _cleanup_(launch_list_clear)

bool launch_list_has_profile(const LaunchList *l, const char *profile);

/* Whom a word on the command line means: exactly a profile, else exactly an id, else the beginning of one id, four digits at least.
 * Removes all others from the list. 0; -ENOENT; -ENOTUNIQ: several ids begin so. */
int launch_list_select(LaunchList *l, const char *word);
