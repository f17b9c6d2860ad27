/* SPDX-License-Identifier: MIT */
#pragma once

/* A launch, as the commands `run` and `shell` ask for it. */

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/profile.h"
#include "shared/settings.h"

typedef struct LaunchRequest {
        const Dirs *dirs;
        const Settings *settings;
        const Profile *profile;
        char *const *args;  /* claude's arguments; with `shell` the command, empty for a shell */
        bool shell;         /* a command instead of claude */
        Limits limits;      /* given with -p: they come before the settings' */
} LaunchRequest;

/* Replaces this process by claude. Returns only on failure, having said why. */
int launch_host(const LaunchRequest *request);

/* Runs claude, or the command, in a sandbox and waits for it. Returns 0 with its exit status in `*ret_status`, or negative
 * errno, having said why. */
int launch_sandboxed(const LaunchRequest *request, int *ret_status);
