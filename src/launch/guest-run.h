/* SPDX-License-Identifier: MIT */
#pragma once

/* podman as a child: started in its control group, watched until everything below it has ended. */

#include <systemd/sd-bus.h>

#include "launch/plan.h"
#include "launch/supervisor-line.h"
#include "shared/podman.h"

typedef struct GuestRunOptions {
        const Plan *plan;
        const PodmanAccess *podman;
        sd_bus *bus;
        int launch_fd;       /* the launch directory */
        int guest_cgroup_fd;
        SupervisorLine *supervisor;
        uint16_t port;
} GuestRunOptions;

/* Runs the guest. Returns 0 with the exit status for the caller in `*ret_status` (128 + n for a signal), or negative errno, having
 * said what is wrong. No process of the guest is left, and no container, when it returns; else `*ret_left` is set, in both
 * cases, and the supervisor has to do it. */
int guest_run(const GuestRunOptions *options, int *ret_status, bool *ret_left);

/* Holds back the signals that guest_run() handles. Called before a launch leaves its first trace: what comes before guest_run() is
 * obeyed there, after everything has been undone. 0 or negative errno. */
int guest_run_block_signals(void);

/* Whether one of them that asks for an end has come. The steps before guest_run() look, since some take seconds. The signal, or 0. */
int guest_run_pending_signal(void);
