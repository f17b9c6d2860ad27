/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * A guest may list the keys of an ssh-agent and have it sign; nothing else (agent-request.c). One request is
 * under way at a time: while the agent owes an answer, what the guest sends stays where it is. So answers
 * come in order by themselves, those that the bridge gives in place of the agent too, and at most one
 * request is to be remembered.
 *
 * What comes in is read into a scratch buffer that all share, behind what was kept of it before; the filter
 * (agent-filter.c) judges it, what passes is written straight out, and only what cannot be judged yet is
 * kept, in a copy of its own: a request that is not all there (of a long one, its head), one that must wait
 * for an answer, or a list of which only some keys may pass. Two system calls take a request that comes in
 * one piece to the agent, and a connection that is idle keeps nothing.
 *
 * Before a request to sign goes to the agent, the agent is asked for its keys: which of them may sign may
 * depend on their comments, and the journal tells them. That it does so each time costs little beside a
 * signature, and needs no memory of what may have changed since. Before the last of the request goes there
 * must be room for the journal's entry (leave.c), for which it waits; and the signature goes to the guest when
 * the journal has taken it.
 *
 * What is written and not taken waits, and meanwhile its source is not read. What is waited for follows from
 * what is kept alone; session_watch() computes it. An end with nothing to wait for is watched edge-triggered,
 * for its disappearance. When the guest has nothing more to say, which it may say behind its last request,
 * it still gets its answers; when the agent has not, that is the end. */

#include <sys/epoll.h>
#include <sys/socket.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "bridge/agent-filter.h"
#include "bridge/backend.h"
#include "bridge/service.h"

#define READ_MAX (16 * KIB)  /* of one end at a time, so that nobody starves the others */
#define MESSAGES_MAX 8       /* of a dialogue in one turn, for the same reason */
#define HELD_FREE (1 * KIB)  /* that a connection may hold, however many there are */
#define FAILURES_MAX ((size_t) 1024) /* sent at once */

typedef enum Side {
        GUEST,
        AGENT,
        _SIDE_MAX,
} Side;

typedef struct End {
        PollEntry entry;
        uint32_t events; /* that it is watched for */
        uint8_t *held; /* came from here, and is not judged yet; NULL when there is nothing */
        size_t n_held;
        uint8_t *waiting; /* must go out here, which is not taken at present; likewise */
        size_t n_waiting;
} End;

typedef struct SshSession {
        Backend backend;
        AgentFilter filter;
        End ends[_SIDE_MAX];
        bool guest_ended; /* it sends nothing more */
        LeaveWaiter leave; /* to sign */
        bool has_leave;
        bool stirred; /* something of sd-event's, in this turn */
        bool over;
        Outcome outcome; /* when it is over */
        uint64_t bytes_in;
        uint64_t bytes_out;
} SshSession;

static SshSession *session_of(const Client *c) {
        return c->session;
}

/* The first reason counts. */
static void session_over(SshSession *s, Outcome outcome) {
        if (s->over)
                return;

        s->over = true;
        s->outcome = outcome;
}

/* Whether something waits to be taken: until then nothing more is passed on. */
static bool session_is_blocked(const SshSession *s) {
        return s->ends[GUEST].waiting || s->ends[AGENT].waiting;
}

/* Replaces what is kept in `*p` by a copy of `n` bytes, which may lie in it. */
static void session_keep(SshSession *s, uint8_t **p, size_t *size, const uint8_t *data, size_t n) {
        uint8_t *copy = NULL;

        if (n > 0) {
                copy = memdup_nul(data, n);
                if (!copy) {
                        session_over(s, OUTCOME_OUT_OF_RESOURCES);
                        return;
                }
        }

        free(*p);
        *p = copy;
        *size = n;
}

/* Writing */

/* Returns the number of bytes that were taken. */
static size_t session_write(SshSession *s, Side to, const uint8_t *p, size_t n) {
        ssize_t k;

        k = send(s->ends[to].entry.fd, p, n, MSG_NOSIGNAL);
        if (k < 0) {
                if (errno != EAGAIN && errno != EINTR)
                        session_over(s, OUTCOME_BROKEN_OFF);
                return 0;
        }

        if (to == GUEST)
                s->bytes_out += (size_t) k;
        return (size_t) k;
}

static void session_send(SshSession *s, Side to, const void *data, size_t n) {
        End *e = &s->ends[to];
        const uint8_t *p = data;
        uint8_t *q;
        size_t k = 0;

        if (n == 0 || s->over)
                return;
        if (!e->waiting)
                k = session_write(s, to, p, n);
        if (k == n || s->over)
                return;

        q = realloc(e->waiting, e->n_waiting + n - k);
        if (!q) {
                session_over(s, OUTCOME_OUT_OF_RESOURCES);
                return;
        }
        memcpy(q + e->n_waiting, p + k, n - k);
        e->waiting = q;
        e->n_waiting += n - k;
}

static void session_flush(SshSession *s, Side to) {
        End *e = &s->ends[to];
        size_t k;

        if (!e->waiting)
                return;

        k = session_write(s, to, e->waiting, e->n_waiting);
        if (k > 0)
                session_keep(s, &e->waiting, &e->n_waiting, e->waiting + k, e->n_waiting - k);
}

/* Judging */

static void session_permit(SshSession *s) {
        s->has_leave = true;
        agent_filter_permit(&s->filter);
}

/* A signature that nobody would know of is none that the guest gets. */
static void session_tell(SshSession *s, const AgentSignature *made) {
        Client *c = s->backend.client;

        s->stirred = true;
        s->has_leave = false;
        leave_use(c->manager->leave);
        if (report_signature(c->manager->report, c->service, made) >= 0)
                return;

        s->filter.n_signed--;
        session_over(s, OUTCOME_NOT_TOLD);
}

static void session_take_step(SshSession *s, Side from, const uint8_t *p, AgentStep *step) {
        _cleanup_agent_signature_ AgentSignature *made = step->made;

        if (made)
                session_tell(s, made);

        switch (step->verdict) {
        case AGENT_WAIT:
                break;
        case AGENT_PASS:
                session_send(s, from == GUEST ? AGENT : GUEST, p, step->pass);
                break;
        case AGENT_REFUSE:
                break; /* session_refuse() */
        case AGENT_ASK:
                session_send(s, AGENT, SSH_AGENT_FRAME_LIST, STRLEN(SSH_AGENT_FRAME_LIST));
                break;
        case AGENT_ASK_LEAVE:
                if (s->has_leave || leave_take(s->backend.client->manager->leave, &s->leave))
                        session_permit(s);
                else
                        s->stirred = true;
                break;
        case AGENT_BAD:
                session_over(s, from == GUEST ? OUTCOME_BAD_MESSAGE : OUTCOME_BROKEN_OFF);
                break;
        case AGENT_NO_MEMORY:
                session_over(s, OUTCOME_OUT_OF_RESOURCES);
                break;
        }
}

/* Many at once: in one read there may be thousands of requests that are refused. */
static void session_refuse(SshSession *s, size_t n) {
        static const size_t size = STRLEN(SSH_AGENT_FRAME_FAILURE);
        char frames[FAILURES_MAX * STRLEN(SSH_AGENT_FRAME_FAILURE)];

        while (n > 0) {
                size_t k = MIN(n, FAILURES_MAX);

                for (size_t i = 0; i < k; i++)
                        memcpy(frames + i * size, SSH_AGENT_FRAME_FAILURE, size);
                session_send(s, GUEST, frames, k * size);
                n -= k;
        }
}

/* Does what may be done with bytes from one end, in the scratch buffer, and keeps the rest of them. */
static void session_judge(SshSession *s, Side from, uint8_t *p, size_t n) {
        End *e = &s->ends[from];
        size_t refused = 0;

        while (n > 0 && !s->over && !(from == GUEST && session_is_blocked(s))) {
                AgentStep step;

                step = from == GUEST ? agent_filter_request(&s->filter, SSH_BYTES(p, n))
                                     : agent_filter_answer(&s->filter, p, n);
                if (step.verdict == AGENT_REFUSE)
                        refused++;
                else {
                        session_refuse(s, refused);
                        refused = 0;
                        session_take_step(s, from, p, &step);
                }
                if (step.used == 0 && step.verdict != AGENT_ASK_LEAVE)
                        break;

                p += step.used;
                n -= step.used;
        }

        session_refuse(s, refused);
        session_keep(s, &e->held, &e->n_held, p, n);
}

/* Puts what was kept of an end into the scratch buffer. */
static uint8_t *session_unhold(SshSession *s, Side side) {
        const End *e = &s->ends[side];
        uint8_t *scratch = s->backend.client->manager->scratch;

        if (e->held)
                memcpy(scratch, e->held, e->n_held);
        return scratch;
}

/* What the guest has sent may have waited for its turn. */
static void session_judge_held(SshSession *s) {
        if (s->ends[GUEST].held && agent_filter_is_ready(&s->filter))
                session_judge(s, GUEST, session_unhold(s, GUEST), s->ends[GUEST].n_held);
}

/* Reading */

/* Returns whether there was anything. */
static bool session_read(SshSession *s, Side from) {
        const End *e = &s->ends[from];
        uint8_t *scratch = session_unhold(s, from);
        ssize_t k;

        /* There is room: nothing that fills a frame waits for more. */
        k = recv(e->entry.fd, scratch + e->n_held, MIN(READ_MAX, SSH_AGENT_FRAME_MAX - e->n_held), 0);
        if (k > 0) {
                if (from == GUEST)
                        s->bytes_in += (size_t) k;
                session_judge(s, from, scratch, e->n_held + (size_t) k);
        } else if (k == 0 && from == GUEST)
                s->guest_ended = true;
        else if (k == 0)
                session_over(s, s->filter.turn == AGENT_TURN_GUEST ? OUTCOME_SERVED : OUTCOME_BROKEN_OFF);
        else if (errno != EAGAIN && errno != EINTR)
                session_over(s, OUTCOME_BROKEN_OFF);

        return k > 0;
}

/* Watching */

/* Whether the guest has sent so much ahead of its turn that the rest of it stays in the kernel. */
static bool session_is_full(const SshSession *s) {
        return s->ends[GUEST].n_held >= READ_MAX && !agent_filter_is_ready(&s->filter);
}

/* The agent is not read while its last answer is not taken. */
static bool session_may_read(const SshSession *s, Side from) {
        if (from == AGENT)
                return !s->ends[GUEST].waiting;

        return !s->guest_ended && !session_is_blocked(s) && !session_is_full(s);
}

/* Reads to and fro, as relay_dispatch() does: the other may have answered already. */
static void session_converse(SshSession *s, Side from) {
        for (int i = 0; i < MESSAGES_MAX && !s->over && session_may_read(s, from); i++) {
                if (!session_read(s, from))
                        break;
                if (from == AGENT)
                        session_judge_held(s);
                from = from == GUEST ? AGENT : GUEST;
        }
}

static void session_watch(SshSession *s, Side side) {
        Client *c = s->backend.client;
        End *e = &s->ends[side];
        uint32_t wanted = 0;

        if (session_may_read(s, side))
                wanted |= EPOLLIN;
        if (e->waiting)
                wanted |= EPOLLOUT;
        if (wanted == 0)
                wanted = EPOLLET;
        if (wanted == e->events)
                return;

        e->events = wanted;
        if (poll_set_watch(c->manager->ready, &e->entry, wanted) < 0)
                session_over(s, OUTCOME_OUT_OF_RESOURCES);
}

/* The guest has said its last, and has its answers or cannot get them. */
static bool session_is_done(const SshSession *s) {
        return s->guest_ended && !session_is_blocked(s) && agent_filter_is_ready(&s->filter);
}

/* Nothing was signed. */
static void session_return_leave(SshSession *s) {
        s->has_leave = false;
        leave_give_back(s->backend.client->manager->leave);
}

/* The last thing to do: the client may end. Returns whether anything of sd-event's may have changed. */
static bool session_settle(Client *c) {
        SshSession *s = session_of(c);
        bool stirred = s->stirred;

        s->stirred = false;
        if (s->has_leave && s->filter.leave != AGENT_LEAVE_GRANTED)
                session_return_leave(s);
        if (session_is_done(s))
                session_over(s, s->ends[GUEST].held || s->filter.request_left > 0 ? OUTCOME_BROKEN_OFF
                                                                                 : OUTCOME_SERVED);
        for (Side side = 0; side < _SIDE_MAX && !s->over; side++)
                session_watch(s, side);

        if (s->over) {
                client_end(c, s->outcome);
                return true;
        }

        return manager_note_stalled(c->manager, c, session_is_blocked(s) || s->ends[GUEST].n_held > HELD_FREE) || stirred;
}

static bool on_ready(void *userdata, int fd, uint32_t revents) {
        Client *c = userdata;
        SshSession *s = session_of(c);
        Side side = fd == s->ends[GUEST].entry.fd ? GUEST : AGENT;

        /* Reading comes first: what an agent said before it went counts. */
        if (s->ends[side].events & EPOLLIN) {
                if (revents & (EPOLLIN | EPOLLHUP | EPOLLERR))
                        session_converse(s, side);
        } else if (side == GUEST && (revents & (EPOLLHUP | EPOLLERR)))
                session_over(s, OUTCOME_BROKEN_OFF);
        /* It takes nothing any more, which epoll says again and again to who waits for room. */
        if (side == AGENT && (revents & (EPOLLHUP | EPOLLERR)))
                session_keep(s, &s->ends[AGENT].waiting, &s->ends[AGENT].n_waiting, NULL, 0);

        if (!s->over && (revents & EPOLLOUT))
                session_flush(s, side);
        if (!s->over && (side == AGENT || (revents & EPOLLOUT)))
                session_judge_held(s);

        return session_settle(c);
}

static void on_leave(void *userdata, bool granted) {
        Client *c = userdata;
        SshSession *s = session_of(c);

        if (granted)
                session_permit(s);
        else if (!agent_filter_refuse(&s->filter))
                session_over(s, OUTCOME_NOT_TOLD);

        session_judge_held(s);
        (void) session_settle(c);
}

/* The service */

static void session_connected(Client *c, int fd) {
        SshSession *s = session_of(c);
        End *guest = &s->ends[GUEST];

        guest->entry.fd = TAKE_FD(c->fd);
        guest->held = (uint8_t *) TAKE_PTR(c->rest);
        guest->n_held = c->n_rest;
        s->bytes_in = c->n_rest;
        s->ends[AGENT].entry.fd = fd;

        session_judge_held(s);
        (void) session_settle(c);
}

static void session_begin(Client *c) {
        SshSession *s;

        s = c->session = new0(SshSession, 1);
        if (!s) {
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
                return;
        }

        s->backend = (Backend) { .client = c, .connected = session_connected };
        s->leave = (LeaveWaiter) { .done = on_leave, .userdata = c };
        s->filter.selectors = c->manager->manifest->ssh_keys;
        for (Side side = 0; side < _SIDE_MAX; side++)
                s->ends[side].entry = (PollEntry) { .handler = on_ready, .userdata = c, .fd = -EBADF };

        backend_connect(&s->backend);
}

static void session_free(Client *c) {
        SshSession *s = session_of(c);

        if (!s)
                return;

        backend_done(&s->backend);
        leave_forget(c->manager->leave, &s->leave);
        if (s->has_leave)
                session_return_leave(s);
        for (Side side = 0; side < _SIDE_MAX; side++) {
                End *e = &s->ends[side];

                (void) poll_set_watch(c->manager->ready, &e->entry, 0);
                free(e->held);
                free(e->waiting);
        }
        if (s->ends[GUEST].entry.fd >= 0)
                c->fd = s->ends[GUEST].entry.fd;
        c->guest_ended = s->guest_ended;
        fd_close(s->ends[AGENT].entry.fd);
        agent_filter_done(&s->filter);
        free(s);
        c->session = NULL;
}

static void session_account(const Client *c, ConnectionEnd *end) {
        const SshSession *s = session_of(c);

        if (!s)
                return;

        end->bytes_in = s->bytes_in;
        end->bytes_out = s->bytes_out;
        end->n_refused = s->filter.n_refused;
        end->n_signed = s->filter.n_signed;
}

const ServiceOps service_ssh = {
        .begin = session_begin,
        .free = session_free,
        .account = session_account,
};
