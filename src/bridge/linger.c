/* SPDX-License-Identifier: MIT */

#include <sys/epoll.h>
#include <sys/socket.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "bridge/linger.h"

#define LINGER_USEC (5 * USEC_PER_SEC)
#define DROPPED_MAX (1 * MIB) /* of one connection */
#define READ_SIZE (16 * KIB)
#define ROUNDS_MAX 4 /* reads at a time */

typedef struct Place {
        Linger *linger;
        PollEntry entry; /* its descriptor is negative while the place is free */
        uint64_t since;
        size_t dropped; /* bytes */
} Place;

struct Linger {
        PollSet *ready;
        sd_event_source *timer; /* armed while a place is taken */
        Place places[LINGER_MAX];
};

static void place_clear(Place *p) {
        (void) poll_set_watch(p->linger->ready, &p->entry, 0);
        p->entry.fd = fd_close(p->entry.fd);
}

/* Returns whether the peer may send more. */
static bool place_drop(Place *p) {
        char buf[READ_SIZE];

        for (int i = 0; i < ROUNDS_MAX; i++) {
                ssize_t k;

                k = recv(p->entry.fd, buf, sizeof(buf), 0);
                if (k < 0)
                        return errno == EAGAIN || errno == EINTR;
                if (k == 0)
                        return false;

                p->dropped += (size_t) k;
                if (p->dropped > DROPPED_MAX)
                        return false;
        }

        return true;
}

static bool on_ready(void *userdata, int fd, uint32_t revents) {
        Place *p = userdata;

        if (!place_drop(p))
                place_clear(p);
        return false;
}

/* The place that was taken first, or NULL. */
static Place *oldest_of(Linger *l) {
        Place *oldest = NULL;

        for (size_t i = 0; i < LINGER_MAX; i++) {
                Place *p = &l->places[i];

                if (p->entry.fd >= 0 && (!oldest || p->since < oldest->since))
                        oldest = p;
        }

        return oldest;
}

static void arm(Linger *l) {
        const Place *p = oldest_of(l);

        if (!p)
                return;

        (void) sd_event_source_set_time(l->timer, p->since + LINGER_USEC);
        (void) sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        uint64_t now = now_usec();
        Linger *l = userdata;

        for (Place *p = oldest_of(l); p && p->since + LINGER_USEC <= now; p = oldest_of(l))
                place_clear(p);

        arm(l);
        return 0;
}

static Place *free_place(Linger *l) {
        Place *p;

        for (size_t i = 0; i < LINGER_MAX; i++)
                if (l->places[i].entry.fd < 0)
                        return &l->places[i];

        p = oldest_of(l);
        place_clear(p);
        return p;
}

void linger_take(Linger *l, int fd) {
        Place *p = free_place(l);
        int enabled;

        p->entry.fd = fd;
        p->since = now_usec();
        p->dropped = 0;
        if (shutdown(fd, SHUT_WR) < 0 || !place_drop(p) || poll_set_watch(l->ready, &p->entry, EPOLLIN) < 0) {
                place_clear(p);
                return;
        }

        /* Armed for one that has gone since, it comes too early, and is armed anew then. */
        if (sd_event_source_get_enabled(l->timer, &enabled) >= 0 && enabled == SD_EVENT_OFF)
                arm(l);
}

int linger_new(sd_event *event, PollSet *ready, Linger **ret) {
        Linger *l;
        int r;

        l = new0(Linger, 1);
        if (!l)
                return -ENOMEM;

        l->ready = ready;
        for (size_t i = 0; i < LINGER_MAX; i++)
                l->places[i] = (Place) {
                        .linger = l,
                        .entry = { .handler = on_ready, .userdata = &l->places[i], .fd = -EBADF },
                };

        r = sd_event_add_time(event, &l->timer, CLOCK_MONOTONIC, UINT64_MAX, USEC_PER_MSEC, on_timer, l);
        if (r >= 0)
                r = sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
        if (r < 0) {
                (void) linger_free(l);
                return r;
        }

        *ret = l;
        return 0;
}

Linger *linger_free(Linger *l) {
        if (!l)
                return NULL;

        for (size_t i = 0; i < LINGER_MAX; i++)
                place_clear(&l->places[i]);
        sd_event_source_disable_unref(l->timer);
        free(l);
        return NULL;
}
