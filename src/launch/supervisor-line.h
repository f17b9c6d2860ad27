/* SPDX-License-Identifier: MIT */
#pragma once

/* The launch's line to its supervisor, kept up: a supervisor that crashed is restarted by the manager and has to hear of the
 * launch again. Nobody looks after the guards in the meantime, so the guest stands still until the new one does. */

#include <systemd/sd-event.h>

#include "launch/plan.h"

/* The guards are kept from now on (`error` 0), or cannot be kept any more: then the launch must end. `why` is a sentence without its
 * full stop, or NULL. */
typedef void (*SupervisorGuarded)(void *userdata, int error, const char *why);

typedef struct SupervisorLine {
        const Plan *plan;
        int fd; /* -EBADF while there is none */
        sd_event *event;
        sd_event_source *source, *timer, *guard_timer;
        unsigned tries;
        SupervisorGuarded guarded; /* NULL: not asked yet */
        void *userdata;
        int guest_cgroup_fd;       /* the guest's, who freezes while nobody keeps its guards */
        bool answered;
} SupervisorLine;

/* Connects and announces the launch. 0 or negative errno. */
int supervisor_line_open(SupervisorLine *l, const Plan *p);

/* Watches the line on `event`, and connects anew when it breaks. 0 or negative errno. */
int supervisor_line_watch(SupervisorLine *l, sd_event *event);

/* Asks the supervisor to keep the launch's guards in place. The answer comes by `guarded`, and so does the news that they cannot be kept any
 * more. 0 or negative errno. */
int supervisor_line_guard(SupervisorLine *l, int guest_cgroup_fd, SupervisorGuarded guarded, void *userdata);

/* Says that the launch ended with `status`, and closes. A negative one: says nothing, so that the supervisor clears away. */
void supervisor_line_close(SupervisorLine *l, int status);
