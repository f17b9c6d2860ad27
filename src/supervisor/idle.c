/* SPDX-License-Identifier: MIT */

/* The manager stops a supervisor that no scope needs (StopWhenUnneeded=), but it looks only when a scope that was active ends. A
 * launch that breaks off while its scope waits for us leaves nothing that would end. So a supervisor without a launch for a
 * while looks for itself, and goes. */

#include "basic/alloc.h"
#include "basic/log.h"
#include "supervisor/supervisor.h"

#define IDLE_USEC (5 * USEC_PER_SEC)

static int found(int base_fd, const char *name, void *userdata) {
        return -EBUSY;
}

/* A launch makes its directory before it asks for its scope: one that has none does not count on us yet, and starts us anew. */
static bool is_needed(Supervisor *s) {
        return s->n_connections > 0 || s->n_workers > 0 || launch_dir_foreach(s->base_fd, s->profile, found, NULL) < 0;
}

static int on_idle(sd_event_source *source, uint64_t usec, void *userdata) {
        Supervisor *s = userdata;

        if (is_needed(s))
                return idle_watch(s);

        log_debug("No launch needs this supervisor.");
        supervisor_stop(s);
        return 0;
}

int idle_watch(Supervisor *s) {
        int r;

        if (!s->idle_timer)
                return sd_event_add_time_relative(s->event, &s->idle_timer, CLOCK_MONOTONIC, IDLE_USEC, USEC_PER_SEC, on_idle, s);

        r = sd_event_source_set_time_relative(s->idle_timer, IDLE_USEC);
        if (r >= 0)
                r = sd_event_source_set_enabled(s->idle_timer, s->n_connections > 0 ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
        return r;
}
