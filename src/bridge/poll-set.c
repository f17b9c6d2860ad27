/* SPDX-License-Identifier: MIT */

#include <sys/epoll.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "bridge/poll-set.h"

#define BATCH_MAX 64  /* descriptors in one turn of the loop */
#define EVENTS_MAX 16 /* callbacks of sd-event in between */

struct PollSet {
        int fd;
        sd_event *event;
        PollEntry event_entry; /* of its descriptor */
        bool event_stirred;    /* it must look what there is to do: only then does it arm its timers */
        struct epoll_event batch[BATCH_MAX];
        int next, end; /* what of the batch is still to be handled */
};

static bool on_event(void *userdata, int fd, uint32_t revents) {
        return true;
}

int poll_set_new(sd_event *event, PollSet **ret) {
        _cleanup_poll_set_ PollSet *s = NULL;
        int r;

        s = new0(PollSet, 1);
        if (!s)
                return -ENOMEM;

        s->event = sd_event_ref(event);
        s->event_entry = (PollEntry) { .handler = on_event, .fd = sd_event_get_fd(event) };
        s->event_stirred = true;
        s->fd = epoll_create1(EPOLL_CLOEXEC);
        if (s->fd < 0)
                return -errno;
        r = poll_set_watch(s, &s->event_entry, EPOLLIN);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

PollSet *poll_set_free(PollSet *s) {
        if (!s)
                return NULL;

        fd_close(s->fd);
        sd_event_unref(s->event);
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

/* Until nothing of it is ready, or others have waited long enough: new connections, first lines and timers
 * would have to, behind thousands that always have something to say. */
static int run_event(PollSet *s) {
        for (int i = 0; i < EVENTS_MAX && s->event_stirred; i++) {
                int r = sd_event_run(s->event, 0);

                if (r < 0)
                        return r;
                s->event_stirred = r > 0;
                if (sd_event_get_state(s->event) == SD_EVENT_FINISHED)
                        break;
        }

        return 0;
}

int poll_set_turn(PollSet *s, int timeout) {
        int r;

        r = run_event(s);
        if (r < 0 || sd_event_get_state(s->event) == SD_EVENT_FINISHED)
                return r;

        s->next = 0;
        s->end = epoll_wait(s->fd, s->batch, BATCH_MAX, s->event_stirred ? 0 : timeout);
        if (s->end < 0)
                return errno == EINTR ? 0 : -errno;

        while (s->next < s->end) {
                const struct epoll_event *event = &s->batch[s->next++];
                const PollEntry *e = event->data.ptr;

                if (e && e->handler(e->userdata, e->fd, event->events))
                        s->event_stirred = true;
        }

        return 0;
}

int poll_set_run(PollSet *s) {
        int code;

        while (sd_event_get_state(s->event) != SD_EVENT_FINISHED) {
                int r = poll_set_turn(s, -1);

                if (r < 0)
                        return r;
        }

        return sd_event_get_exit_code(s->event, &code) < 0 ? -EIO : code;
}
