/* SPDX-License-Identifier: MIT */
#pragma once

/* The resource limits of a launch's scope: to the manager, and in words. */

#include <systemd/sd-bus.h>

#include "launch/plan.h"

/* Appends each that is set as a property "(sv)". 0 or negative errno. */
int limits_append(sd_bus_message *m, const Limits *limits);

/* Warns of limits that nothing enforces, because the kernel's controller is not delegated to this user's manager, and of one that a
 * microVM cannot keep. `cgroup` is the scope's path as /proc/self/cgroup has it. */
void limits_check(const Plan *p, const char *cgroup);

/* Where a limit of the launch comes from: "-p", or as settings_describe_origin() says. The caller frees; NULL when out of memory. */
char *limit_describe_origin(const LaunchRequest *request, LimitId id);
