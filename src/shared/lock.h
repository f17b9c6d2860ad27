/* SPDX-License-Identifier: MIT */
#pragma once

/* The lock (flock) between commands that change profiles and launches that are about to begin. It is one
 * file for all profiles, <data>/lock, where no sandbox can reach it, and it is held for moments: nobody asks
 * a question meanwhile.
 *
 * A launch holds it from before it reads the profile until its launch directory stands, locked in its turn:
 * from then on launch_any_alive() tells of it. So a command that holds the lock and finds no launch can
 * replace a file that a launch would have mounted, and one that finds a launch writes in place. */

#include "basic/macro.h"
#include "shared/dirs.h"

typedef enum LockMode {
        PROFILES_CHANGE, /* exclusive */
        PROFILES_LAUNCH, /* shared, with other launches */
        PROFILES_READ,   /* shared; -ENOENT where nobody ever changed anything, instead of making the file */
} LockMode;

/* Returns a descriptor, whose closing ends the lock, or negative errno; -EBUSY when it cannot be had within
 * some seconds. */
int profiles_lock(const Dirs *dirs, LockMode mode);

/* flock(2) with a bound: -EBUSY when the lock cannot be had within some seconds. */
int lock_bounded(int fd, int operation);
