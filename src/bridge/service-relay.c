/* SPDX-License-Identifier: MIT */

/* A service that passes bytes between the guest and a Unix socket of the host, and looks at none. */

#include <sys/socket.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "bridge/backend.h"
#include "bridge/service.h"

typedef struct RelaySession {
        Backend backend;
        Relay relay;
        bool relaying;
        PollEntry entries[_RELAY_SIDE_MAX];
} RelaySession;

static RelaySession *session_of(const Client *c) {
        return c->session;
}

/* Returns whether a client has ended, this one or another. */
static bool session_relay_said(Client *c, int r) {
        const Relay *relay = &session_of(c)->relay;

        if (r == 0)
                return manager_note_stalled(c->manager, c, relay_is_stalled(relay));

        if (r < 0)
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
        else if (relay->flows[RELAY_A].error < 0 || relay->flows[RELAY_B].error < 0)
                client_end(c, OUTCOME_BROKEN_OFF);
        else
                client_end(c, OUTCOME_SERVED);

        return true;
}

static bool on_ready(void *userdata, int fd, uint32_t revents) {
        Client *c = userdata;

        return session_relay_said(c, relay_dispatch(&session_of(c)->relay, fd, revents));
}

static int session_watch(Relay *r, int fd, uint32_t events) {
        RelaySession *s = (RelaySession *) ((char *) r - offsetof(RelaySession, relay));
        PollEntry *e = &s->entries[fd == r->ends[RELAY_A].in ? RELAY_A : RELAY_B];

        return poll_set_watch(s->backend.client->manager->ready, e, events);
}

static void session_connected(Client *c, int fd) {
        RelaySession *s = session_of(c);
        int r;

        relay_init(&s->relay, c->manager->relays, session_watch, RELAY_SOCKET(TAKE_FD(c->fd)),
                        RELAY_SOCKET(fd));
        s->relaying = true;
        for (RelaySide side = RELAY_A; side < _RELAY_SIDE_MAX; side++)
                s->entries[side] = (PollEntry) {
                        .handler = on_ready,
                        .userdata = c,
                        .fd = s->relay.ends[side].in,
                };

        r = relay_push(&s->relay, RELAY_A, c->rest, c->n_rest);
        free(TAKE_PTR(c->rest));
        if (r >= 0)
                r = relay_start(&s->relay);

        (void) session_relay_said(c, r);
}

static void session_begin(Client *c) {
        RelaySession *s;

        s = c->session = new0(RelaySession, 1);
        if (!s) {
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
                return;
        }

        s->backend = (Backend) { .client = c, .connected = session_connected };
        backend_connect(&s->backend);
}

static void session_free(Client *c) {
        RelaySession *s = session_of(c);

        if (!s)
                return;

        backend_done(&s->backend);
        if (s->relaying) {
                c->fd = relay_take_end(&s->relay, RELAY_A, &c->guest_ended);
                relay_done(&s->relay);
        }
        free(s);
        c->session = NULL;
}

static void session_account(const Client *c, ConnectionEnd *end) {
        const RelaySession *s = session_of(c);

        if (!s)
                return;

        end->bytes_in = s->relay.flows[RELAY_A].bytes;
        end->bytes_out = s->relay.flows[RELAY_B].bytes;
}

static void session_supervisor_answered(Client *c, bool ok) {
        backend_started(&session_of(c)->backend, ok);
}

const ServiceOps service_relay = {
        .begin = session_begin,
        .free = session_free,
        .account = session_account,
        .supervisor_answered = session_supervisor_answered,
};
