/* SPDX-License-Identifier: MIT */
#pragma once

#include "launch/launch.h"

/* Prints what a sandboxed launch would do, to standard output. Only the bridge's port is not known yet. Returns 0 or negative errno,
 * having said why. */
int launch_explain(const LaunchRequest *request, bool json);
