/* SPDX-License-Identifier: MIT */

#include <sys/epoll.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "bridge/poll-set.h"

#define BATCH_MAX 64 /* descriptors in one turn of the loop */

struct PollSet {
        int fd;
        sd_event_source *source;
        struct epoll_event batch[BATCH_MAX];
        int next, end; /* what of the batch is still to be handled */
};

static int on_ready(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        PollSet *s = userdata;

        s->next = 0;
        s->end = epoll_wait(s->fd, s->batch, BATCH_MAX, 0);

        while (s->next < s->end) {
                const struct epoll_event *event = &s->batch[s->next++];
                const PollEntry *e = event->data.ptr;

                if (e)
                        e->handler(e->userdata, e->fd, event->events);
        }

        return 0;
}

int poll_set_new(sd_event *event, PollSet **ret) {
        _cleanup_poll_set_ PollSet *s = NULL;
        int r;

        s = new0(PollSet, 1);
        if (!s)
                return -ENOMEM;

        s->fd = epoll_create1(EPOLL_CLOEXEC);
        if (s->fd < 0)
                return -errno;
        r = sd_event_add_io(event, &s->source, s->fd, EPOLLIN, on_ready, s);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

PollSet *poll_set_free(PollSet *s) {
        if (!s)
                return NULL;

        sd_event_source_disable_unref(s->source);
        fd_close(s->fd);
        free(s);
        return NULL;
}

/* The entry may be gone, or wait for something else, when the batch comes to it. What is ready then is
 * reported again. */
static void forget(PollSet *s, const PollEntry *e) {
        for (int i = s->next; i < s->end; i++)
                if (s->batch[i].data.ptr == e)
                        s->batch[i].data.ptr = NULL;
}

int poll_set_watch(PollSet *s, PollEntry *e, uint32_t events) {
        struct epoll_event event = { .events = events, .data.ptr = e };
        int operation = e->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

        if (events == 0) {
                if (!e->watched)
                        return 0;
                operation = EPOLL_CTL_DEL;
        }

        if (epoll_ctl(s->fd, operation, e->fd, &event) < 0)
                return -errno;

        e->watched = events != 0;
        forget(s, e);
        return 0;
}
