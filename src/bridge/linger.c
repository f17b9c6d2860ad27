/* SPDX-License-Identifier: MIT */

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <linux/tcp.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "bridge/linger.h"

#define TICK_USEC (1 * USEC_PER_SEC)
#define PEER_USEC (5 * USEC_PER_SEC)    /* for the peer to close */
#define UNREAD_USEC (60 * USEC_PER_SEC) /* for it to take something of what waits */
#define DROPPED_MAX (1 * MIB)           /* of one connection */
#define READ_SIZE (16 * KIB)
#define ROUNDS_MAX 4 /* reads at a time */

typedef struct Place {
        Linger *linger;
        PollEntry entry; /* its descriptor is negative while the place is free */
        bool ended;      /* nothing more comes from the peer */
        uint64_t since;  /* when something last moved */
        uint64_t taken;  /* bytes that the peer had taken then */
        size_t dropped;  /* bytes */
} Place;

struct Linger {
        PollSet *ready;
        sd_event_source *timer; /* armed while a place is taken */
        Place places[LINGER_MAX];
};

/* Whether something waits for the peer to make room, and how much it has taken so far. */
static bool has_unsent(int fd, uint64_t *ret_taken) {
        struct tcp_info info = {};
        socklen_t n = sizeof(info);

        (void) getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n);
        *ret_taken = info.tcpi_bytes_acked;
        return info.tcpi_notsent_bytes > 0;
}

static void place_clear(Place *p) {
        (void) poll_set_watch(p->linger->ready, &p->entry, 0);
        p->entry.fd = fd_close(p->entry.fd);
}

void linger_give_up(int fd) {
        const struct linger reset = { .l_onoff = 1 };
        uint64_t taken;

        if (fd >= 0 && has_unsent(fd, &taken))
                (void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        fd_close(fd);
}

static void place_give_up(Place *p) {
        (void) poll_set_watch(p->linger->ready, &p->entry, 0);
        linger_give_up(TAKE_FD(p->entry.fd));
}

static void place_ended(Place *p) {
        uint64_t taken;

        p->ended = true;
        (void) poll_set_watch(p->linger->ready, &p->entry, 0);
        if (!has_unsent(p->entry.fd, &taken))
                place_clear(p);
}

static void place_drop(Place *p) {
        char buf[READ_SIZE];

        for (int i = 0; i < ROUNDS_MAX; i++) {
                ssize_t k;

                k = recv(p->entry.fd, buf, sizeof(buf), 0);
                if (k < 0 && (errno == EAGAIN || errno == EINTR))
                        return;
                if (k <= 0) {
                        place_ended(p);
                        return;
                }

                p->dropped += (size_t) k;
                if (p->dropped > DROPPED_MAX) {
                        place_give_up(p);
                        return;
                }
        }
}

static bool on_ready(void *userdata, int fd, uint32_t revents) {
        place_drop(userdata);
        return false;
}

static void arm(Linger *l) {
        (void) sd_event_source_set_time_relative(l->timer, TICK_USEC);
        (void) sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static void place_look(Place *p, uint64_t now) {
        uint64_t taken;
        bool unsent;

        unsent = has_unsent(p->entry.fd, &taken);
        if (taken != p->taken) {
                p->taken = taken;
                p->since = now;
        }

        if (p->ended && !unsent)
                place_clear(p);
        else if (now >= p->since + (unsent ? UNREAD_USEC : PEER_USEC))
                place_give_up(p);
}

static int on_tick(sd_event_source *s, uint64_t usec, void *userdata) {
        uint64_t now = now_usec();
        Linger *l = userdata;
        bool any = false;

        for (size_t i = 0; i < LINGER_MAX; i++) {
                Place *p = &l->places[i];

                if (p->entry.fd >= 0)
                        place_look(p, now);
                any = any || p->entry.fd >= 0;
        }

        if (any)
                arm(l);
        return 0;
}

static Place *free_place(Linger *l) {
        Place *oldest = l->places;

        for (size_t i = 0; i < LINGER_MAX; i++) {
                Place *p = &l->places[i];

                if (p->entry.fd < 0)
                        return p;
                if (p->since < oldest->since)
                        oldest = p;
        }

        place_give_up(oldest);
        return oldest;
}

void linger_take(Linger *l, int fd, bool ended) {
        uint64_t taken;
        int enabled;
        Place *p;

        if (ended && !has_unsent(fd, &taken)) {
                fd_close(fd);
                return;
        }

        p = free_place(l);
        p->entry.fd = fd;
        p->ended = ended;
        p->since = now_usec();
        p->dropped = 0;
        (void) has_unsent(fd, &p->taken);

        if (shutdown(fd, SHUT_WR) < 0 || (!ended && poll_set_watch(l->ready, &p->entry, EPOLLIN) < 0))
                place_clear(p);
        else if (!ended)
                place_drop(p);

        if (p->entry.fd >= 0 && sd_event_source_get_enabled(l->timer, &enabled) >= 0 && enabled == SD_EVENT_OFF)
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

        r = sd_event_add_time(event, &l->timer, CLOCK_MONOTONIC, UINT64_MAX, USEC_PER_MSEC, on_tick, l);
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
                place_give_up(&l->places[i]);
        sd_event_source_disable_unref(l->timer);
        free(l);
        return NULL;
}
