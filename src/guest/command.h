/* SPDX-License-Identifier: MIT */
#pragma once

/* The command of a sandbox: started as the guest's user, in a process group of its own. */

#include <sys/resource.h>
#include <sys/types.h>

#include "basic/macro.h"

/* What a command that could not be run leaves as its status, as in shells; and the entry point's own
 * failures. */
enum {
        STATUS_ENTRY_FAILED = 125,
        STATUS_NOT_EXECUTABLE = 126,
        STATUS_NOT_FOUND = 127,
        STATUS_SIGNAL_BASE = 128,
};

typedef struct Command {
        char *const *argv;
        char *const *environment;
        bool terminal; /* standard input is the controlling terminal: the command gets its foreground */
        struct rlimit nofile; /* as it was before the entry point raised its own */
} Command;

/* Starts it, and changes this process's environment to the command's. Returns 0 when it runs, a status of
 * those above when the program cannot be run, or negative errno; both have been said. */
int command_start(const Command *c, pid_t *ret);
