/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * `chrome` passes native-messaging frames between claude in the guest and the native host that the user's
 * browser has started. Chrome ends an extension's service worker after 30 s without events, and the native
 * host with it; so when nothing has passed for a while, a frame of our own goes to the native host, and the
 * answer to it is taken out. For that, frames must be followed in both directions (native-filter.c): ours
 * may only stand between two of the guest's.
 *
 * Each direction is a flow. It either waits for its source, or holds what its destination would not take and
 * waits for that, never both: at most one read's worth is held, whatever the size of a frame, and who does
 * not read stops who sends to it. The masks follow from that state in one place, session_watch().
 *
 * The end of a source is passed on when all before it is written. A frame that was cut off by it is not
 * completed by anybody: the other side sees the same cut, or nothing of it if the header was cut. A destination
 * that takes no more breaks its flow; what it has said itself still goes the other way. */

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "bridge/buffers.h"
#include "bridge/native-filter.h"
#include "bridge/native-host.h"
#include "bridge/service.h"

/* Tests, which cannot wait so long, are compiled with another one. */
#ifndef KEEPALIVE_USEC
#define KEEPALIVE_USEC (20 * USEC_PER_SEC)
#endif

#define SESSIONS_MAX 64 /* the user's browser has its part in each */
#define READ_SIZE (16 * KIB)
#define ROUNDS_MAX 4 /* reads of one flow at a time, so that nobody starves the others */

typedef enum Side {
        SIDE_GUEST,
        SIDE_HOST,
        _SIDE_MAX,
} Side;

/* By its source. */
typedef struct Flow {
        NativeFilter filter;
        char *left; /* what the destination has not taken yet, or NULL */
        size_t left_offset;
        size_t left_end;
        bool ended;    /* nothing more comes from the source */
        bool finished; /* and that was passed on */
        uint64_t bytes;
} Flow;

typedef struct ChromeSession {
        Client *client;
        int fds[_SIDE_MAX];
        sd_event_source *sources[_SIDE_MAX];
        uint32_t events[_SIDE_MAX]; /* that they are for */
        Flow flows[_SIDE_MAX];
        sd_event_source *timer;
        uint64_t last; /* when something last passed */
        Outcome outcome;
} ChromeSession;

static int on_io(sd_event_source *s, int fd, uint32_t revents, void *userdata);

static Side side_other(Side s) {
        return s == SIDE_GUEST ? SIDE_HOST : SIDE_GUEST;
}

/* Flows: each function returns 0 or negative errno, which ends the session. */

/* Its destination has gone. */
static void flow_break(ChromeSession *s, Side from) {
        Flow *f = &s->flows[from];

        if (f->finished)
                return;

        f->ended = f->finished = true;
        free(TAKE_PTR(f->left));
        s->outcome = OUTCOME_BROKEN_OFF;
}

/* Returns the number of bytes that were taken. */
static ssize_t flow_send(ChromeSession *s, Side from, const char *p, size_t n) {
        ssize_t k;

        k = send(s->fds[side_other(from)], p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k >= 0) {
                s->flows[from].bytes += (uint64_t) k;
                return k;
        }
        if (errno == EPIPE || errno == ECONNRESET)
                flow_break(s, from);
        else if (errno != EAGAIN && errno != EINTR)
                return -errno;

        return 0;
}

/* Writes what it can; the rest is kept. Only called when nothing is left over. */
static int flow_write(ChromeSession *s, Side from, const char *p, size_t n) {
        Flow *f = &s->flows[from];
        ssize_t k;

        if (n == 0)
                return 0;
        k = flow_send(s, from, p, n);
        if (k < 0)
                return (int) k;
        if ((size_t) k == n || f->finished)
                return 0;

        f->left = memdup_nul(p + k, n - (size_t) k);
        if (!f->left)
                return -ENOMEM;
        f->left_offset = 0;
        f->left_end = n - (size_t) k;
        return 0;
}

static int flow_write_left(ChromeSession *s, Side from) {
        Flow *f = &s->flows[from];
        ssize_t k;

        k = flow_send(s, from, f->left + f->left_offset, f->left_end - f->left_offset);
        if (k < 0)
                return (int) k;

        f->left_offset += (size_t) k;
        if (f->left && f->left_offset == f->left_end)
                free(TAKE_PTR(f->left));

        return 0;
}

/* Frames, cut anyhow. -EBADMSG: one that is none. */
static int flow_pass(ChromeSession *s, Side from, const char *p, size_t n) {
        char out[READ_SIZE + NATIVE_HELD_MAX];
        size_t n_out;
        int r, k;

        assert(n <= READ_SIZE);
        r = native_filter_pass(&s->flows[from].filter, p, n, out, &n_out);
        k = flow_write(s, from, out, n_out);
        return r < 0 ? r : k;
}

static int flow_read(ChromeSession *s, Side from) {
        Flow *f = &s->flows[from];

        for (int i = 0; i < ROUNDS_MAX && !f->left && !f->ended; i++) {
                char in[READ_SIZE];
                ssize_t n;
                int r;

                n = recv(s->fds[from], in, sizeof(in), MSG_DONTWAIT);
                if (n < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (n < 0)
                        flow_break(s, side_other(from)); /* nobody is there to write to either */
                if (n <= 0) {
                        f->ended = true;
                        if (!native_filter_is_between(&f->filter))
                                s->outcome = OUTCOME_BAD_FRAME;
                        break;
                }

                s->last = now_usec();
                r = flow_pass(s, from, in, (size_t) n);
                if (r < 0)
                        return r;
                if ((size_t) n < sizeof(in))
                        break;
        }

        return 0;
}

/* Passes the end on. */
static void flow_finish(ChromeSession *s, Side from) {
        Flow *f = &s->flows[from];

        if (!f->ended || f->left || f->finished)
                return;

        f->finished = true;
        (void) shutdown(s->fds[side_other(from)], SHUT_WR);
}

/* The session */

static uint32_t wanted(const ChromeSession *s, Side side) {
        const Flow *in = &s->flows[side], *out = &s->flows[side_other(side)];
        uint32_t events;

        events = (!in->ended && !in->left ? EPOLLIN : 0) | (out->left ? EPOLLOUT : 0);
        return events > 0 ? events : EPOLLET; /* for its disappearance, once */
}

static int session_watch(ChromeSession *s) {
        for (Side side = SIDE_GUEST; side < _SIDE_MAX; side++) {
                uint32_t events = wanted(s, side);
                int r;

                /* Asked anew, epoll tells of one that has hung up once more. */
                if (s->sources[side] && events == s->events[side])
                        continue;

                s->events[side] = events;
                if (s->sources[side])
                        r = sd_event_source_set_io_events(s->sources[side], events);
                else
                        r = sd_event_add_io(s->client->manager->event, &s->sources[side], s->fds[side], events,
                                        on_io, s);
                if (r < 0)
                        return r;
        }

        return 0;
}

static Outcome outcome_of_end(int r) {
        if (r == -EBADMSG)
                return OUTCOME_BAD_FRAME;

        return outcome_of_error(r) == OUTCOME_OUT_OF_RESOURCES ? OUTCOME_OUT_OF_RESOURCES : OUTCOME_BROKEN_OFF;
}

/* After every step. The client may have ended when this returns. */
static void session_go_on(ChromeSession *s, int r) {
        Client *c = s->client;

        for (Side side = SIDE_GUEST; side < _SIDE_MAX && r >= 0; side++)
                flow_finish(s, side);
        if (r >= 0)
                r = session_watch(s);

        if (r < 0)
                client_end(c, outcome_of_end(r));
        else if (s->flows[SIDE_GUEST].finished && s->flows[SIDE_HOST].finished)
                client_end(c, s->outcome);
        else
                (void) manager_note_stalled(c->manager, c, s->flows[SIDE_GUEST].left || s->flows[SIDE_HOST].left);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        ChromeSession *s = userdata;
        Side side = fd == s->fds[SIDE_GUEST] ? SIDE_GUEST : SIDE_HOST, other = side_other(side);
        int r = 0;

        /* Reading comes first: what a host said before it went counts, also when it did not take a frame. */
        if (revents & (EPOLLIN | EPOLLHUP | EPOLLERR))
                r = flow_read(s, side);
        if (r >= 0 && s->flows[other].left && (revents & (EPOLLOUT | EPOLLHUP | EPOLLERR)))
                r = flow_write_left(s, other);
        /* The guest has said all, and has gone. */
        if (side == SIDE_GUEST && s->flows[side].ended && (revents & (EPOLLHUP | EPOLLERR)))
                flow_break(s, other);

        session_go_on(s, r);
        return 0;
}

/* Nothing has passed for a while: between two frames of the guest's, and only if the native host takes what
 * is sent to it. */
static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        ChromeSession *s = userdata;
        Flow *f = &s->flows[SIDE_GUEST];
        char frame[NATIVE_HELD_MAX];
        uint64_t now = now_usec();
        int r = 0;

        if (now >= s->last + KEEPALIVE_USEC) {
                s->last = now;
                if (!f->ended && !f->left && native_filter_is_between(&f->filter))
                        r = flow_write(s, SIDE_GUEST, frame, native_keepalive(frame));
        }

        (void) sd_event_source_set_time(source, s->last + KEEPALIVE_USEC);
        (void) sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        session_go_on(s, r);
        return 0;
}

static void session_begin(Client *c) {
        ChromeSession *s;
        int fd, r;

        s = c->session = new0(ChromeSession, 1);
        if (!s) {
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
                return;
        }

        s->client = c;
        s->fds[SIDE_GUEST] = c->fd;
        s->fds[SIDE_HOST] = -EBADF;
        s->flows[SIDE_HOST].filter.takes_answers = true;
        s->outcome = OUTCOME_SERVED;
        s->last = now_usec();

        c->manager->n_busy[SERVICE_CHROME]++;
        if (c->manager->n_busy[SERVICE_CHROME] > SESSIONS_MAX) {
                client_end(c, OUTCOME_TOO_MANY);
                return;
        }

        fd = native_host_connect(c->service->path);
        if (fd < 0) {
                client_end(c, fd == -EPERM ? OUTCOME_BACKEND_UNSAFE : outcome_of_error(fd));
                return;
        }
        buffers_of_backend(fd, c->manager->n_open);
        s->fds[SIDE_HOST] = fd;

        r = sd_event_add_time(c->manager->event, &s->timer, CLOCK_MONOTONIC, s->last + KEEPALIVE_USEC,
                        USEC_PER_SEC / 10, on_timer, s);
        if (r >= 0)
                r = flow_pass(s, SIDE_GUEST, c->rest ?: "", c->n_rest);
        free(TAKE_PTR(c->rest));
        session_go_on(s, r);
}

static void session_free(Client *c) {
        ChromeSession *s = c->session;

        if (!s)
                return;

        for (Side side = SIDE_GUEST; side < _SIDE_MAX; side++) {
                sd_event_source_disable_unref(s->sources[side]);
                free(s->flows[side].left);
        }
        c->guest_ended = s->flows[SIDE_GUEST].ended;
        c->manager->n_busy[SERVICE_CHROME]--;
        sd_event_source_disable_unref(s->timer);
        fd_close(s->fds[SIDE_HOST]);
        free(s);
        c->session = NULL;
}

static void session_account(const Client *c, ConnectionEnd *end) {
        const ChromeSession *s = c->session;

        if (!s)
                return;

        end->bytes_in = s->flows[SIDE_GUEST].bytes;
        end->bytes_out = s->flows[SIDE_HOST].bytes;
}

const ServiceOps service_chrome = {
        .begin = session_begin,
        .free = session_free,
        .account = session_account,
};
