/* SPDX-License-Identifier: MIT */

/* Between making its launch directory and saying "hold" a launcher may be killed, and no connection tells of that. So a directory
 * that appears is looked at a little later, and again until somebody holds its launch or it is gone. */

#include <sys/inotify.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "supervisor/supervisor.h"

#define NEWBORN_USEC (2 * USEC_PER_SEC)

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata);

static void look_later(Supervisor *s) {
        int enabled;

        if (!s->newborn_timer) {
                (void) sd_event_add_time_relative(s->event, &s->newborn_timer, CLOCK_MONOTONIC, NEWBORN_USEC, 0, on_timer, s);
                return;
        }

        if (sd_event_source_get_enabled(s->newborn_timer, &enabled) > 0)
                return;
        (void) sd_event_source_set_time_relative(s->newborn_timer, NEWBORN_USEC);
        (void) sd_event_source_set_enabled(s->newborn_timer, SD_EVENT_ONESHOT);
}

static int check_held(int base_fd, const char *name, void *userdata) {
        _cleanup_free_ char *profile = NULL;
        Supervisor *s = userdata;
        const char *id;

        if (launch_dir_parse_name(name, &profile, &id) >= 0)
                for (Connection *c = s->connections; c; c = c->next)
                        if (c->holds && streq(c->id, id))
                                return 0;

        look_later(s);
        return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Supervisor *s = userdata;

        (void) worker_sweep_all(s);
        (void) launch_dir_foreach(s->base_fd, s->profile, check_held, s);
        return 0;
}

static int on_directory(sd_event_source *source, const struct inotify_event *event, void *userdata) {
        _cleanup_free_ char *profile = NULL;
        Supervisor *s = userdata;
        const char *id;

        if (event->len > 0 && launch_dir_parse_name(event->name, &profile, &id) >= 0 && streq(profile, s->profile))
                look_later(s);
        return 0;
}

int newborn_watch(Supervisor *s) {
        look_later(s);
        return sd_event_add_inotify(s->event, &s->newborn_watch, s->dirs->runtime, IN_MOVED_TO | IN_ONLYDIR, on_directory, s);
}
