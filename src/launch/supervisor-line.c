/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/fd.h"
#include "launch/supervisor-client.h"
#include "launch/supervisor-line.h"
#include "shared/cgroup.h"

#define RECONNECT_INTERVAL_USEC (200 * USEC_PER_MSEC)
#define RECONNECT_TRIES 50
#define GUARD_USEC (15 * USEC_PER_SEC) /* longer than the supervisor gives itself */

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
        int r;

        l->event = event;
        r = sd_event_add_io(event, &l->source, l->fd, EPOLLIN, on_line, l);
        if (r >= 0) /* why a guest was killed is to be heard before its end */
                r = sd_event_source_set_priority(l->source, SD_EVENT_PRIORITY_IMPORTANT);
        return r;
}

static void say_guarded(SupervisorLine *l, int error, const char *why) {
        SupervisorGuarded guarded = l->guarded;

        if (!guarded)
                return;
        if (error < 0)
                l->guarded = NULL; /* it is over */
        guarded(l->userdata, error, why);
}

static int on_give_up(sd_event_source *s, uint64_t usec, void *userdata) {
        say_guarded(userdata, -ETIMEDOUT, NULL);
        return 0;
}

static int ask_for_guard(SupervisorLine *l) {
        int r;

        l->answered = false;
        r = supervisor_guard(l->fd);
        if (r >= 0)
                r = sd_event_add_time_relative(l->event, &l->guard_timer, CLOCK_MONOTONIC, GUARD_USEC, 0, on_give_up, l);
        return r;
}

int supervisor_line_guard(SupervisorLine *l, int guest_cgroup_fd, SupervisorGuarded guarded, void *userdata) {
        l->guest_cgroup_fd = guest_cgroup_fd;
        l->guarded = guarded;
        l->userdata = userdata;

        /* Just now there is none: on_timer() asks when there is. */
        return l->fd >= 0 ? ask_for_guard(l) : 0;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        SupervisorLine *l = userdata;
        int r;

        if (supervisor_line_open(l, l->plan) >= 0) {
                l->tries = 0;
                r = supervisor_line_watch(l, l->event);
                if (r >= 0 && l->guarded)
                        r = ask_for_guard(l);
                if (r < 0)
                        say_guarded(l, r, NULL);
                return 0;
        }

        if (++l->tries >= RECONNECT_TRIES) {
                say_guarded(l, -ECONNREFUSED, NULL);
                return 0;
        }
        (void) sd_event_source_set_time_relative(s, RECONNECT_INTERVAL_USEC);
        return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

/* Nobody keeps the guards until there is a supervisor again. */
static int lose_line(SupervisorLine *l) {
        l->source = sd_event_source_disable_unref(l->source);
        l->timer = sd_event_source_disable_unref(l->timer);
        l->guard_timer = sd_event_source_disable_unref(l->guard_timer);
        l->fd = fd_close(l->fd);

        if (l->guarded && cgroup_freeze(l->guest_cgroup_fd, true) < 0)
                say_guarded(l, -EIO, "the sandbox cannot be frozen");
        return sd_event_add_time_relative(l->event, &l->timer, CLOCK_MONOTONIC, RECONNECT_INTERVAL_USEC, 0, on_timer, l);
}

static int on_line(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        _cleanup_free_ char *why = NULL;
        SupervisorLine *l = userdata;
        int r;

        r = supervisor_read_guard_answer(fd, &why);
        if (r == -EAGAIN)
                return 0;
        /* Only what was asked for, or that it is over. */
        if (r < 0 || !l->guarded || (r > 0 && l->answered))
                return lose_line(l);

        l->answered = true;
        l->guard_timer = sd_event_source_disable_unref(l->guard_timer);
        say_guarded(l, r > 0 ? 0 : -EPERM, why);
        return 0;
}

void supervisor_line_close(SupervisorLine *l, int status) {
        if (l->fd >= 0 && status >= 0)
                supervisor_done(l->fd, status);

        l->source = sd_event_source_disable_unref(l->source);
        l->timer = sd_event_source_disable_unref(l->timer);
        l->guard_timer = sd_event_source_disable_unref(l->guard_timer);
        l->fd = fd_close(l->fd);
}
