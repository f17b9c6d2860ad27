/* SPDX-License-Identifier: MIT */

/* One direction of a relay; relay.c has the theory. */

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/relay-flow.h"

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

static void flow_set_state(Relay *r, RelaySide from, RelayState state) {
        RelayFlow *f = &r->flows[from];

        log_debug("Relay %p, %s: %s -> %s after %llu bytes.", (void *) r,
                        from == RELAY_A ? "A to B" : "B to A", relay_state_to_string(f->state),
                        relay_state_to_string(state), (unsigned long long) f->bytes);
        f->state = state;
}

void flow_unload(Relay *r, RelayFlow *f) {
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
                relay_close_end(r, &to->out, &to->watched_out);
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
                relay_close_end(r, &source->in, &source->watched_in);
        if (!end_is_socket(to))
                relay_close_end(r, &to->out, &to->watched_out);
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

/* recv(2) and send(2) go straight to the socket; read(2) and write(2) ask what kind of file it is. */
static ssize_t end_read(const RelayEnd *e, char *p, size_t n) {
        return end_is_socket(e) ? recv(e->in, p, n, 0) : read(e->in, p, n);
}

static ssize_t end_write(const RelayEnd *e, const char *p, size_t n) {
        return end_is_socket(e) ? send(e->out, p, n, MSG_NOSIGNAL) : write(e->out, p, n);
}

/* Writes what it can at once. Returns the number of bytes that went out; the flow breaks on an error. */
static size_t flow_write(Relay *r, RelaySide from, const char *p, size_t n) {
        RelayFlow *f = &r->flows[from];
        size_t done = 0;

        while (done < n) {
                ssize_t k;

                k = end_write(&r->ends[side_other(from)], p + done, n - done);
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

int flow_pass(Relay *r, RelaySide from, const char *p, size_t n) {
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

        k = end_read(&r->ends[from], scratch, RELAY_SCRATCH_SIZE);
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
        unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK | (f->gathering ? SPLICE_F_MORE : 0);

        while (f->pipe.n > 0) {
                ssize_t k;

                k = splice(f->pipe.out, NULL, r->ends[side_other(from)].out, NULL, f->pipe.n, flags);
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

        /* That there is nothing at present says nothing about what will come. */
        if (k >= 0)
                f->bulk = k >= (ssize_t) RELAY_SCRATCH_SIZE;
        more = flow_check_read(r, from, k);
        if (k <= 0)
                return more;

        f->pipe.n = (size_t) k;
        flow_drain_pipe(r, from);
        return f->bulk;
}

static int set_no_delay(int fd, int on) {
        return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* In bulk TCP may gather whole segments (and is told that more comes, flow_drain_pipe()): told not to delay, it
 * sends the odd end of each piece by itself. Not a TCP socket: that fails, and nothing comes of it. */
static void flow_gather(Relay *r, RelaySide from) {
        RelayFlow *f = &r->flows[from];

        if (!f->gathering)
                f->gathering = set_no_delay(r->ends[side_other(from)].out, 0) >= 0;
}

/* That must not hold up the end of what there is: at the end of a turn what waits is sent. */
static void flow_flush(Relay *r, RelaySide from) {
        RelayFlow *f = &r->flows[from];

        if (!f->gathering || flow_is_loaded(f))
                return;

        (void) set_no_delay(r->ends[side_other(from)].out, 1);
        f->gathering = false;
}

int flow_read(Relay *r, RelaySide from, bool told) {
        RelayFlow *f = &r->flows[from];
        int more = 1;

        for (int i = 0; i < RELAY_ROUNDS_MAX && more > 0; i++) {
                if (f->state != RELAY_STATE_OPEN || flow_is_loaded(f))
                        break;

                if (f->bulk)
                        flow_gather(r, from);
                more = f->bulk ? flow_splice(r, from) : flow_copy(r, from);

                /* There is something, but not for splice(2): it stops before TCP's urgent data, which recv(2)
                 * leaves out. */
                if (told && i == 0 && more == 0)
                        f->bulk = false;
        }

        flow_flush(r, from);

        if (f->pipe.n == 0)
                pipe_pool_release(&r->shared->pool, &f->pipe);

        return MIN(more, 0);
}

void flow_writable(Relay *r, RelaySide from, bool gone) {
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
        else if (!f->bulk)
                flow_flush(r, from); /* else that is at the end of reading on, relay_writable() */
}
