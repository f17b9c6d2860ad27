/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* The command line that runs the image's podman with `args` for this sandbox: as root by way of sudo unless `root`, and with the storage
 * that works in a sandbox unless a configuration says so (`configured`). 0 or -ENOMEM. */
int podman_command(char *const *args, bool root, bool configured, char ***ret);
