/* SPDX-License-Identifier: MIT */
#pragma once

/* A program that takes this process's place on the terminal for a while: standard streams, environment, keyboard signals. */

#include "basic/macro.h"

/* Runs it and waits. Returns 0 with its exit status (128 + n for a signal), or negative errno; -ENOENT when there is no such program. */
int foreground_run(char *const *argv, int *ret_status);
