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

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/relay.h"

#define RELAY_SCRATCH_SIZE (16 * KIB)
#define RELAY_ROUNDS_MAX 4 /* reads of one flow in one dispatch, so that nobody starves the others */

struct RelayShared {
        PipePool pool;
        char scratch[RELAY_SCRATCH_SIZE];
};

static const char *const relay_state_table[] = {
        [RELAY_STATE_OPEN] = "open",
        [RELAY_STATE_DRAINING] = "draining",
        [RELAY_STATE_DONE] = "done",
        [RELAY_STATE_BROKEN] = "broken",
};
static_assert(ELEMENTSOF(relay_state_table) == _RELAY_STATE_MAX, "every state has a name");

const char *relay_state_to_string(RelayState s) {
        return s < _RELAY_STATE_MAX ? relay_state_table[s] : "?";
}

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

/* Watching */

static bool end_is_socket(const RelayEnd *e) {
        return e->in == e->out;
}

static RelaySide side_other(RelaySide s) {
        return s == RELAY_A ? RELAY_B : RELAY_A;
}

static bool flow_is_over(const RelayFlow *f) {
        return f->state == RELAY_STATE_DONE || f->state == RELAY_STATE_BROKEN;
}

/* Whether something was read that is not yet written. */
static bool flow_is_loaded(const RelayFlow *f) {
        return f->left || f->pipe.n > 0;
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

static void end_close(Relay *r, int *fd, uint32_t *watched) {
        (void) watch_one(r, *fd, watched, 0);
        *fd = fd_close(*fd);
}

/* Flows */

static void flow_set_state(Relay *r, RelaySide from, RelayState state) {
        RelayFlow *f = &r->flows[from];

        log_debug("Relay %p, %s: %s -> %s after %llu bytes.", (void *) r,
                        from == RELAY_A ? "A to B" : "B to A", relay_state_to_string(f->state),
                        relay_state_to_string(state), (unsigned long long) f->bytes);
        f->state = state;
}

static void flow_unload(Relay *r, RelayFlow *f) {
        free(TAKE_PTR(f->left));
        pipe_pool_release(&r->shared->pool, &f->pipe);
}

/* The source has ended and everything is written. */
static void flow_finish(Relay *r, RelaySide from) {
        RelayEnd *to = &r->ends[side_other(from)];

        flow_unload(r, &r->flows[from]);
        flow_set_state(r, from, RELAY_STATE_DONE);

        if (end_is_socket(to))
                (void) shutdown(to->out, SHUT_WR);
        else
                end_close(r, &to->out, &to->watched_out);
}

/* The destination takes no more. */
static void flow_break(Relay *r, RelaySide from, int error) {
        RelayEnd *source = &r->ends[from], *to = &r->ends[side_other(from)];
        RelayFlow *f = &r->flows[from];

        if (flow_is_over(f))
                return;

        f->error = error;
        flow_unload(r, f);
        flow_set_state(r, from, RELAY_STATE_BROKEN);

        /* A socket's other direction may still be of use, and TCP could not tell its peer about half a close
         * anyway. */
        if (!end_is_socket(source))
                end_close(r, &source->in, &source->watched_in);
        if (!end_is_socket(to))
                end_close(r, &to->out, &to->watched_out);
}

/* Nothing more can be read: 0 at the end of file, else negative errno. */
static void flow_source_ended(Relay *r, RelaySide from, int error) {
        if (error < 0) {
                r->flows[from].error = error;
                if (end_is_socket(&r->ends[from]))
                        flow_break(r, side_other(from), error);
        }

        flow_set_state(r, from, RELAY_STATE_DRAINING);
        if (!flow_is_loaded(&r->flows[from]))
                flow_finish(r, from);
}

/* Writes what it can at once. Returns the number of bytes that went out; the flow breaks on an error. */
static size_t flow_write(Relay *r, RelaySide from, const char *p, size_t n) {
        RelayFlow *f = &r->flows[from];
        size_t done = 0;

        while (done < n) {
                ssize_t k;

                k = write(r->ends[side_other(from)].out, p + done, n - done);
                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        if (errno != EAGAIN)
                                flow_break(r, from, -errno);
                        break;
                }

                done += (size_t) k;
        }

        f->bytes += done;
        return done;
}

static int flow_keep(RelayFlow *f, const char *p, size_t n) {
        size_t kept = f->left ? f->left_end - f->left_offset : 0;
        char *q;

        q = malloc(kept + n);
        if (!q)
                return -ENOMEM;

        if (kept > 0)
                memcpy(q, f->left + f->left_offset, kept);
        memcpy(q + kept, p, n);

        free(f->left);
        f->left = q;
        f->left_offset = 0;
        f->left_end = kept + n;
        return 0;
}

/* Writes straight out, and keeps what the destination does not take. */
static int flow_pass(Relay *r, RelaySide from, const char *p, size_t n) {
        RelayFlow *f = &r->flows[from];
        size_t k = 0;

        if (!flow_is_loaded(f))
                k = flow_write(r, from, p, n);
        if (k == n || flow_is_over(f))
                return 0;

        return flow_keep(f, p + k, n - k);
}

/* The read functions return 1 when there may be more at once, 0 when not, or -ENOMEM. What read(2) said is
 * in `k`. */
static int flow_check_read(Relay *r, RelaySide from, ssize_t k) {
        if (k > 0)
                return 1;
        if (k == 0)
                flow_source_ended(r, from, 0);
        else if (errno == EINTR)
                return 1;
        else if (errno != EAGAIN)
                flow_source_ended(r, from, -errno);

        return 0;
}

static int flow_copy(Relay *r, RelaySide from) {
        RelayFlow *f = &r->flows[from];
        char *scratch = r->shared->scratch;
        ssize_t k;
        int more;

        k = read(r->ends[from].in, scratch, RELAY_SCRATCH_SIZE);
        more = flow_check_read(r, from, k);
        if (k <= 0)
                return more;

        f->bulk = k == RELAY_SCRATCH_SIZE && !f->no_splice && end_is_socket(&r->ends[RELAY_A]) &&
                  end_is_socket(&r->ends[RELAY_B]);

        more = flow_pass(r, from, scratch, (size_t) k);
        return more < 0 ? more : k == RELAY_SCRATCH_SIZE;
}

static void flow_drain_pipe(Relay *r, RelaySide from) {
        RelayFlow *f = &r->flows[from];

        while (f->pipe.n > 0) {
                ssize_t k;

                k = splice(f->pipe.out, NULL, r->ends[side_other(from)].out, NULL, f->pipe.n,
                                SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        if (errno != EAGAIN)
                                flow_break(r, from, -errno);
                        return;
                }
                if (k == 0)
                        return;

                f->pipe.n -= (size_t) k;
                f->bytes += (size_t) k;
        }
}

static int flow_splice(Relay *r, RelaySide from) {
        RelayFlow *f = &r->flows[from];
        ssize_t k;
        int more;

        if (f->pipe.in < 0 && pipe_pool_take(&r->shared->pool, &f->pipe) < 0)
                return flow_copy(r, from);

        k = splice(r->ends[from].in, NULL, f->pipe.in, NULL, PIPE_POOL_SIZE,
                        SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (k < 0 && errno == EINVAL) {
                f->bulk = false;
                f->no_splice = true;
                return 1;
        }

        f->bulk = k >= (ssize_t) RELAY_SCRATCH_SIZE;
        more = flow_check_read(r, from, k);
        if (k <= 0)
                return more;

        f->pipe.n = (size_t) k;
        flow_drain_pipe(r, from);
        return f->bulk;
}

static int flow_read(Relay *r, RelaySide from) {
        RelayFlow *f = &r->flows[from];
        int more = 1;

        for (int i = 0; i < RELAY_ROUNDS_MAX && more > 0; i++) {
                if (f->state != RELAY_STATE_OPEN || flow_is_loaded(f))
                        break;

                more = f->bulk ? flow_splice(r, from) : flow_copy(r, from);
        }

        if (f->pipe.n == 0)
                pipe_pool_release(&r->shared->pool, &f->pipe);

        return MIN(more, 0);
}

/* The destination may take more, or has gone. */
static void flow_writable(Relay *r, RelaySide from, bool gone) {
        RelayFlow *f = &r->flows[from];

        if (!flow_is_loaded(f)) {
                if (gone)
                        flow_break(r, from, 0); /* nothing is lost */
                return;
        }

        /* With bytes at hand the attempt to write them tells the real error. */
        flow_drain_pipe(r, from);
        if (f->pipe.n == 0 && f->left) {
                size_t n = f->left_end - f->left_offset;

                f->left_offset += flow_write(r, from, f->left + f->left_offset, n);
                if (f->left && f->left_offset == f->left_end)
                        free(TAKE_PTR(f->left));
        }

        if (f->pipe.n == 0)
                pipe_pool_release(&r->shared->pool, &f->pipe);
        if (f->state == RELAY_STATE_DRAINING && !flow_is_loaded(f))
                flow_finish(r, from);
}

/* The relay */

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

int relay_dispatch(Relay *r, int fd, uint32_t revents) {
        for (RelaySide s = RELAY_A; s < _RELAY_SIDE_MAX; s++) {
                RelaySide other = side_other(s);
                int k;

                if (fd == r->ends[s].out && (revents & (EPOLLOUT | EPOLLHUP | EPOLLERR)) &&
                                !flow_is_over(&r->flows[other]))
                        flow_writable(r, other, revents & (EPOLLHUP | EPOLLERR));

                if (fd == r->ends[s].in && (revents & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))) {
                        k = flow_read(r, s);
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

void relay_done(Relay *r) {
        for (RelaySide s = RELAY_A; s < _RELAY_SIDE_MAX; s++) {
                RelayEnd *e = &r->ends[s];
                bool socket = end_is_socket(e);

                flow_unload(r, &r->flows[s]);
                end_discard(r, s);

                end_close(r, &e->in, &e->watched_in);
                if (socket)
                        e->out = -EBADF;
                else
                        end_close(r, &e->out, &e->watched_out);
        }
}
