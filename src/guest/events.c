/* SPDX-License-Identifier: MIT */

#include <sys/epoll.h>

#include "basic/fd.h"
#include "guest/events.h"

int events_init(Events *e) {
        e->n_batch = 0;
        e->fd = epoll_create1(EPOLL_CLOEXEC);
        return e->fd < 0 ? -errno : 0;
}

void events_done(Events *e) {
        e->fd = fd_close(e->fd);
}

static void events_forget(Events *e, const EventSource *s) {
        for (int i = 0; i < e->n_batch; i++)
                if (e->batch[i].data.ptr == s)
                        e->batch[i].data.ptr = NULL;
}

int events_watch(Events *e, EventSource *s, uint32_t mask) {
        struct epoll_event event = { .events = mask, .data.ptr = s };
        int op;

        if (mask == s->mask)
                return 0;

        op = mask == 0 ? EPOLL_CTL_DEL : s->mask == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
        if (epoll_ctl(e->fd, op, s->fd, &event) < 0)
                return -errno;

        s->mask = mask;
        if (mask == 0)
                events_forget(e, s);
        return 0;
}

int events_run(Events *e, int timeout_msec) {
        int n;

        n = epoll_wait(e->fd, e->batch, EVENTS_BATCH, timeout_msec);
        if (n < 0)
                return errno == EINTR ? 0 : -errno;

        e->n_batch = n;
        for (int i = 0; i < n; i++) {
                EventSource *s = e->batch[i].data.ptr;
                int r;

                if (!s)
                        continue;

                r = s->dispatch(s, e->batch[i].events);
                if (r < 0) {
                        e->n_batch = 0;
                        return r;
                }
        }

        e->n_batch = 0;
        return 0;
}
