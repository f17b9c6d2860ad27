/* SPDX-License-Identifier: MIT */
#pragma once

/* The launch's line to its supervisor, kept up: a supervisor that crashed is restarted by the manager and has to hear of the
 * launch again. */

#include <systemd/sd-event.h>

#include "launch/plan.h"

typedef struct SupervisorLine {
        const Plan *plan;
        int fd; /* -EBADF while there is none */
        sd_event *event;
        sd_event_source *source, *timer;
        unsigned tries;
} SupervisorLine;

/* Connects and announces the launch. 0 or negative errno. */
int supervisor_line_open(SupervisorLine *l, const Plan *p);

/* Watches the line on `event`, and connects anew when it breaks. 0 or negative errno. */
int supervisor_line_watch(SupervisorLine *l, sd_event *event);

/* Says that the launch ended with `status`, and closes. A negative one: says nothing, so that the supervisor clears away. */
void supervisor_line_close(SupervisorLine *l, int status);
