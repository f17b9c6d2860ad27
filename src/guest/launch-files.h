/* SPDX-License-Identifier: MIT */
#pragma once

/* What the launcher has left for the guest in GUEST_LAUNCH (see basic/wire.h). */

#include "basic/macro.h"
#include "guest/bridge.h"

typedef struct LaunchFiles {
        char **environment;
        char **command;    /* at least one string */
        char *bridge_text; /* NULL: there is no bridge */
        size_t bridge_size;
        Bridge bridge;
        char *gpg_keys; /* NULL: none */
        size_t gpg_keys_size;
} LaunchFiles;

/* Pure: strings that each end in a NUL. Returns 0, -ENOMEM, or -EBADMSG when the last one does not. */
int nul_list_parse(const char *buf, size_t n, char ***ret);

/* Waits until the launcher lets the sandbox go. Returns 0, the number of a signal that came first, or
 * negative errno; -ETIMEDOUT after a minute. All signals must be blocked. */
int launch_wait_for_go(int dir_fd);

/* Reads everything. Says what is wrong. Returns 0 or negative errno. */
int launch_files_load(int dir_fd, LaunchFiles *ret);

void launch_files_done(LaunchFiles *f);
#define _cleanup_launch_files_ _cleanup_(launch_files_done)
