/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * A relay is two flows, one for each direction. A flow is either waiting for its source to be readable, or
 * holds bytes that its destination would not take and waits for that to be writable: never both. So at most
 * one read's worth is held for each flow, and a destination that does not read stops its source by the
 * kernel's own flow control. What is waited for follows from that state alone; wanted_in() and wanted_out()
 * compute it, relay_watch() tells the owner what has changed, and nothing else touches a mask.
 *
 * Small messages, which is what agents speak, are read into a scratch buffer that all relays share and
 * written straight out: two system calls, no memory of their own. Only what a destination does not take is
 * copied to a buffer of that size. A read that fills the scratch buffer says that more is coming: between
 * two sockets the flow then goes on with splice(2) through a pipe, which it takes from a small pool and
 * gives back as soon as it is empty. When there is no pipe to be had (limit, descriptors), it goes on
 * copying.
 *
 * The end of a source is passed on when everything before it has been written: shutdown(SHUT_WR) on a
 * socket, close() on anything else. A destination that takes no more (EPIPE, ECONNRESET) breaks its flow,
 * which drops what is left and closes a source that is no socket, so that a writer learns it; the other
 * direction goes on, since what it still carries may matter. An error when reading from a socket ends that
 * flow like an end of file and breaks the opposite one: there is nobody to write to. EPOLLHUP and EPOLLERR
 * come unasked, so every event on a descriptor must lead to progress or to mask 0. Where a descriptor has
 * nothing to wait for but its peer's disappearance, it is watched edge-triggered. */

#include <sys/epoll.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/relay-flow.h"

RelayShared *relay_shared_new(void) {
        return new0(RelayShared, 1);
}

RelayShared *relay_shared_free(RelayShared *s) {
        if (!s)
                return NULL;

        pipe_pool_clear(&s->pool);
        free(s);
        return NULL;
}

static uint32_t wanted_in(const Relay *r, RelaySide side) {
        const RelayFlow *f = &r->flows[side];

        return f->state == RELAY_STATE_OPEN && !flow_is_loaded(f) ? EPOLLIN : 0;
}

static uint32_t wanted_out(const Relay *r, RelaySide side) {
        const RelayFlow *f = &r->flows[side_other(side)];

        if (flow_is_over(f))
                return 0;

        return flow_is_loaded(f) ? EPOLLOUT : EPOLLET;
}

static int watch_one(Relay *r, int fd, uint32_t *watched, uint32_t wanted) {
        int k;

        if (fd < 0 || *watched == wanted)
                return 0;

        k = r->watch(r, fd, wanted);
        if (k < 0)
                return k;

        *watched = wanted;
        return 0;
}

static int relay_watch(Relay *r) {
        for (RelaySide s = RELAY_A; s < _RELAY_SIDE_MAX; s++) {
                RelayEnd *e = &r->ends[s];
                uint32_t in, out;
                int k;

                in = wanted_in(r, s);
                out = wanted_out(r, s);

                if (end_is_socket(e)) {
                        in |= out;
                        if (in & (EPOLLIN | EPOLLOUT))
                                in &= ~EPOLLET;
                        out = 0;
                }

                k = watch_one(r, e->in, &e->watched_in, in);
                if (k >= 0 && !end_is_socket(e))
                        k = watch_one(r, e->out, &e->watched_out, out);
                if (k < 0)
                        return k;
        }

        return flow_is_over(&r->flows[RELAY_A]) && flow_is_over(&r->flows[RELAY_B]) ? RELAY_E_FINISHED : 0;
}

void relay_close_end(Relay *r, int *fd, uint32_t *watched) {
        (void) watch_one(r, *fd, watched, 0);
        *fd = fd_close(*fd);
}

void relay_init(Relay *r, RelayShared *shared, RelayWatch watch, RelayEnd a, RelayEnd b) {
        const RelayFlow flow = { .pipe = PIPE_NONE };

        *r = (Relay) { .shared = shared, .watch = watch, .ends = { a, b }, .flows = { flow, flow } };
}

int relay_push(Relay *r, RelaySide from, const void *data, size_t n) {
        if (n == 0 || r->flows[from].state != RELAY_STATE_OPEN)
                return 0;

        return flow_pass(r, from, data, n);
}

int relay_start(Relay *r) {
        return relay_watch(r);
}

/* Reads the other side at once when a message was passed on, and so to and fro. Whoever got it may have
 * answered before we ran again, on the same processor it nearly always has; then there is no need to ask
 * epoll. Where it has not, that was one system call, and nobody waits for us. */
static int relay_converse(Relay *r, RelaySide from) {
        if (!end_is_socket(&r->ends[RELAY_A]) || !end_is_socket(&r->ends[RELAY_B]))
                return 0;

        for (int i = 0; i < RELAY_ANSWERS_MAX; i++) {
                RelayFlow *f = &r->flows[from];
                uint64_t before = f->bytes;
                int k;

                if (f->bulk)
                        break;
                k = flow_read(r, from, false);
                if (k < 0)
                        return k;
                if (f->bytes == before)
                        break;

                from = side_other(from);
        }

        return 0;
}

/* What waited has gone out: there will be more. To read that at once is to leave the masks as they are, where
 * a destination is slower than its source. */
static int relay_writable(Relay *r, RelaySide from, bool gone) {
        RelayFlow *f = &r->flows[from];
        bool waited = flow_is_loaded(f);

        flow_writable(r, from, gone);
        return waited && f->bulk ? flow_read(r, from, false) : 0;
}

int relay_dispatch(Relay *r, int fd, uint32_t revents) {
        for (RelaySide s = RELAY_A; s < _RELAY_SIDE_MAX; s++) {
                RelaySide other = side_other(s);
                int k = 0;

                if (fd == r->ends[s].out && (revents & (EPOLLOUT | EPOLLHUP | EPOLLERR)) &&
                                !flow_is_over(&r->flows[other]))
                        k = relay_writable(r, other, revents & (EPOLLHUP | EPOLLERR));
                if (k < 0)
                        return k;

                if (fd == r->ends[s].in && (revents & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))) {
                        uint64_t before = r->flows[s].bytes;

                        k = flow_read(r, s, true);
                        if (k >= 0 && r->flows[s].bytes > before && !r->flows[s].bulk)
                                k = relay_converse(r, other);
                        if (k < 0)
                                return k;
                }
        }

        return relay_watch(r);
}

bool relay_is_stalled(const Relay *r) {
        return flow_is_loaded(&r->flows[RELAY_A]) || flow_is_loaded(&r->flows[RELAY_B]);
}

/* A TCP socket that is closed with bytes unread resets its connection, and the peer may lose a reply that it
 * has not read yet. Where nobody wants those bytes any more, they are read away first. */
static void end_discard(Relay *r, RelaySide side) {
        const RelayEnd *e = &r->ends[side];

        if (e->in < 0 || !end_is_socket(e) || r->flows[side].state != RELAY_STATE_BROKEN)
                return;

        for (int i = 0; i < RELAY_ROUNDS_MAX; i++)
                if (read(e->in, r->shared->scratch, RELAY_SCRATCH_SIZE) <= 0)
                        break;
}

int relay_take_end(Relay *r, RelaySide side, bool *ret_ended) {
        RelayState state = r->flows[side].state;
        RelayEnd *e = &r->ends[side];

        assert(end_is_socket(e));
        *ret_ended = state == RELAY_STATE_DRAINING || state == RELAY_STATE_DONE;

        (void) watch_one(r, e->in, &e->watched_in, 0);
        e->out = -EBADF;
        return TAKE_FD(e->in);
}

void relay_done(Relay *r) {
        for (RelaySide s = RELAY_A; s < _RELAY_SIDE_MAX; s++) {
                RelayEnd *e = &r->ends[s];
                bool socket = end_is_socket(e);

                flow_unload(r, &r->flows[s]);
                end_discard(r, s);

                relay_close_end(r, &e->in, &e->watched_in);
                if (socket)
                        e->out = -EBADF;
                else
                        relay_close_end(r, &e->out, &e->watched_out);
        }
}
