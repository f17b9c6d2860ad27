/* SPDX-License-Identifier: MIT */

#include "basic/fd.h"
#include "launch/supervisor-client.h"
#include "launch/supervisor-line.h"

#define RECONNECT_INTERVAL_USEC (200 * USEC_PER_MSEC)
#define RECONNECT_TRIES 50

static int on_line(sd_event_source *s, int fd, uint32_t revents, void *userdata);

int supervisor_line_open(SupervisorLine *l, const Plan *p) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        l->plan = p;
        fd = supervisor_connect(p->request->dirs, p->request->profile->name);
        if (fd < 0)
                return fd;
        r = supervisor_hold(fd, p);
        if (r < 0)
                return r;

        l->fd = TAKE_FD(fd);
        return 0;
}

int supervisor_line_watch(SupervisorLine *l, sd_event *event) {
        l->event = event;
        return sd_event_add_io(event, &l->source, l->fd, EPOLLIN, on_line, l);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        SupervisorLine *l = userdata;

        if (supervisor_line_open(l, l->plan) >= 0) {
                l->tries = 0;
                return supervisor_line_watch(l, l->event);
        }

        if (++l->tries >= RECONNECT_TRIES)
                return 0;
        (void) sd_event_source_set_time_relative(s, RECONNECT_INTERVAL_USEC);
        return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

/* Nothing is ever said unasked, so this is its end. */
static int on_line(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        SupervisorLine *l = userdata;

        l->source = sd_event_source_disable_unref(l->source);
        l->timer = sd_event_source_disable_unref(l->timer);
        l->fd = fd_close(l->fd);
        return sd_event_add_time_relative(l->event, &l->timer, CLOCK_MONOTONIC, RECONNECT_INTERVAL_USEC, 0, on_timer, l);
}

void supervisor_line_close(SupervisorLine *l, int status) {
        if (l->fd >= 0 && status >= 0)
                supervisor_done(l->fd, status);

        l->source = sd_event_source_disable_unref(l->source);
        l->timer = sd_event_source_disable_unref(l->timer);
        l->fd = fd_close(l->fd);
}
