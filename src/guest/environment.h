/* SPDX-License-Identifier: MIT */
#pragma once

/* The environment of the command. */

#include "basic/macro.h"

typedef struct EnvironmentOptions {
        char *const *image;  /* what podman gave the entry point: the image's variables and `-e` */
        char *const *launch; /* the launch's file; wins over those */
        const char *shell;
        const char *ssh_auth_sock; /* NULL: not forwarded */
        bool gpg;                  /* the agent is forwarded */
} EnvironmentOptions;

/* Pure. What makes the guest's contract wins over both lists; each name comes once. Returns 0 or -ENOMEM. */
int environment_build(const EnvironmentOptions *o, char ***ret);
