/* SPDX-License-Identifier: MIT */

#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "bridge/client.h"
#include "bridge/handshake.h"
#include "bridge/unix-connect.h"

#define RETRY_FIRST_USEC (5 * USEC_PER_MSEC)
#define RETRY_LAST_USEC (1 * USEC_PER_SEC) /* doubling from the first: 1.3 s in all */
#define AGE_MIN_USEC (20 * USEC_PER_MSEC)  /* the clock is coarse: below, the order of accepting holds */
#define AGE_MAX_USEC (60 * USEC_PER_SEC)

static const char *const client_state_table[] = {
        [CLIENT_NEW] = "new",
        [CLIENT_WAITING] = "waiting",
        [CLIENT_CONNECTING] = "connecting",
        [CLIENT_STARTING] = "starting",
        [CLIENT_RELAYING] = "relaying",
};
static_assert(ELEMENTSOF(client_state_table) == _CLIENT_STATE_MAX, "every state has a name");

static void client_connect(Client *c);
static int on_io(sd_event_source *s, int fd, uint32_t revents, void *userdata);

static void client_set_state(Client *c, ClientState state) {
        log_debug("Client %p: %s -> %s.", (void *) c, client_state_table[c->state],
                        client_state_table[state]);
        c->state = state;
}

static Client *client_free(Client *c) {
        if (!c)
                return NULL;

        if (c->state == CLIENT_RELAYING)
                relay_done(&c->relay);
        for (RelaySide s = RELAY_A; s < _RELAY_SIDE_MAX; s++)
                sd_event_source_disable_unref(c->sources[s]);
        sd_event_source_disable_unref(c->retry_timer);
        fd_close(c->fd);
        free(c->rest);
        free(c);
        return NULL;
}

/* Ends */

void client_report(Manager *m, Outcome outcome, Peer peer) {
        const ConnectionEnd end = { .outcome = outcome, .peer = peer };

        report_end(m->report, &end);
}

static void client_end_asking(Client *c, Outcome outcome, const char *asked_for) {
        Manager *m = c->manager;
        const ConnectionEnd end = {
                .outcome = outcome,
                .service = c->service,
                .asked_for = asked_for,
                .peer = c->peer,
                .bytes_in = c->relay.flows[RELAY_A].bytes,
                .bytes_out = c->relay.flows[RELAY_B].bytes,
                .duration = now_usec() - c->since,
        };

        report_end(m->report, &end);
        manager_remove(m, c);
        client_free(c);
}

void client_end(Client *c, Outcome outcome) {
        client_end_asking(c, outcome, NULL);
}

static Outcome outcome_of_error(int error) {
        return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS
                               ? OUTCOME_OUT_OF_RESOURCES
                               : OUTCOME_BACKEND_GONE;
}

/* The relay */

static Client *client_of_relay(Relay *r) {
        return (Client *) ((char *) r - offsetof(Client, relay));
}

static void client_relay_said(Client *c, int r) {
        if (r == 0)
                manager_note_stalled(c->manager, c, relay_is_stalled(&c->relay));
        else if (r < 0)
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
        else if (c->relay.flows[RELAY_A].error < 0 || c->relay.flows[RELAY_B].error < 0)
                client_end(c, OUTCOME_BROKEN_OFF);
        else
                client_end(c, OUTCOME_SERVED);
}

static int client_watch(Relay *r, int fd, uint32_t events) {
        Client *c = client_of_relay(r);
        sd_event_source **source = &c->sources[fd == r->ends[RELAY_A].in ? RELAY_A : RELAY_B];

        if (events == 0) {
                *source = sd_event_source_disable_unref(*source);
                return 0;
        }

        if (*source)
                return sd_event_source_set_io_events(*source, events);

        return sd_event_add_io(c->manager->event, source, fd, events, on_io, c);
}

static void client_relay(Client *c, int backend) {
        const int buffer = SEND_BUFFER;
        Manager *m = c->manager;
        int r;

        /* Of the size that it has by default a Unix socket's takes no whole pipe. */
        (void) setsockopt(backend, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
        relay_init(&c->relay, m->relays, client_watch, RELAY_SOCKET(TAKE_FD(c->fd)), RELAY_SOCKET(backend));
        client_set_state(c, CLIENT_RELAYING);

        r = relay_push(&c->relay, RELAY_A, c->rest, c->n_rest);
        free(TAKE_PTR(c->rest));
        if (r >= 0)
                r = relay_start(&c->relay);

        client_relay_said(c, r);
}

/* The service */

/* Nothing is read before there is somebody to pass it on to. */
static void client_hold(Client *c, ClientState state) {
        c->sources[RELAY_A] = sd_event_source_disable_unref(c->sources[RELAY_A]);
        client_set_state(c, state);
}

static int on_retry(sd_event_source *s, uint64_t usec, void *userdata) {
        Client *c = userdata;

        c->retry_timer = sd_event_source_disable_unref(c->retry_timer);
        client_connect(c);
        return 0;
}

/* The agent is alive but does not accept: its queue is full. */
static void client_retry(Client *c) {
        int r;

        c->retry_usec = c->retry_usec == 0 ? RETRY_FIRST_USEC : c->retry_usec * 2;
        if (c->retry_usec > RETRY_LAST_USEC) {
                client_end(c, OUTCOME_BACKEND_GONE);
                return;
        }

        client_hold(c, CLIENT_CONNECTING);
        r = sd_event_add_time_relative(c->manager->event, &c->retry_timer, CLOCK_MONOTONIC, c->retry_usec,
                        USEC_PER_MSEC, on_retry, c);
        if (r < 0)
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
}

static bool client_ask_for_agent(Client *c) {
        if (c->service->id.kind != SERVICE_GPG || c->restarted)
                return false;

        c->restarted = true;
        if (starter_request(c->manager->starter) < 0)
                return false;

        client_hold(c, CLIENT_STARTING);
        return true;
}

static void client_connect(Client *c) {
        int fd;

        fd = unix_connect(c->service->path);
        if (fd >= 0)
                client_relay(c, fd);
        else if (fd == -EAGAIN)
                client_retry(c);
        else if (outcome_of_error(fd) != OUTCOME_BACKEND_GONE || !client_ask_for_agent(c))
                client_end(c, outcome_of_error(fd));
}

void client_agent_started(Client *c, bool ok) {
        if (c->state != CLIENT_STARTING)
                return;

        if (ok)
                client_connect(c);
        else
                client_end(c, OUTCOME_BACKEND_GONE);
}

/* The first line */

static const ManifestService *find_service(const Manifest *m, ServiceId id) {
        for (size_t i = 0; i < m->n_services; i++)
                if (m->services[i].id.kind == id.kind && m->services[i].id.index == id.index)
                        return &m->services[i];

        return NULL;
}

static void client_accepted(Client *c, const Handshake *h, const char *line, size_t n) {
        Manager *m = c->manager;

        c->service = find_service(m->manifest, h->service);
        if (m->n_open >= RELAYS_MAX) {
                client_end(c, OUTCOME_TOO_MANY);
                return;
        }

        free(TAKE_PTR(c->rest));
        c->n_rest = n - h->consumed;
        if (c->n_rest > 0) {
                c->rest = memdup_nul(line + h->consumed, c->n_rest);
                if (!c->rest) {
                        client_end(c, OUTCOME_OUT_OF_RESOURCES);
                        return;
                }
        }

        manager_remove(m, c);
        manager_add_open(m, c);
        client_connect(c);
}

/* The name of a service that does not exist, for the journal. Never with the token in it, wherever it
 * stands. */
static void client_refuse_name(Client *c, const Handshake *h, Outcome outcome) {
        _cleanup_free_ char *name = NULL;

        if (!memmem(h->name, h->name_length, c->manager->manifest->token, WIRE_TOKEN_LENGTH))
                name = memdup_nul(h->name, h->name_length);

        client_end_asking(c, outcome, name);
}

/* How long ago the connection was made, as far as that can still be told. It was accepted now, but may have
 * waited in the kernel: until its first byte (the kernel measures that as the round trip of the first
 * packet) or until it was clear that none would come (then it has no measure), then in the queue. */
static uint64_t connection_age(int fd) {
        struct tcp_info info = {};
        socklen_t n = sizeof(info);
        uint64_t age;

        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
                return 0;

        age = info.tcpi_last_data_recv * USEC_PER_MSEC;
        age += info.tcpi_rtt > 0 ? info.tcpi_rtt : DEFER_SECONDS * USEC_PER_SEC;
        return age < AGE_MIN_USEC ? 0 : MIN(age, AGE_MAX_USEC);
}

/* Keeps what there is of a line. */
static void client_wait(Client *c, const char *line, size_t n) {
        Manager *m = c->manager;

        if (n > c->n_rest) {
                char *copy = memdup_nul(line, n);

                if (!copy) {
                        client_end(c, OUTCOME_OUT_OF_RESOURCES);
                        return;
                }
                free(c->rest);
                c->rest = copy;
                c->n_rest = n;
        }
        if (c->state == CLIENT_WAITING)
                return;

        if (sd_event_add_io(m->event, &c->sources[RELAY_A], c->fd, EPOLLIN, on_io, c) < 0) {
                client_end(c, OUTCOME_OUT_OF_RESOURCES);
                return;
        }

        c->since -= MIN(connection_age(c->fd), c->since);
        client_set_state(c, CLIENT_WAITING);
        manager_add_waiting(m, c);
}

static void client_read_line(Client *c) {
        Manager *m = c->manager;
        HandshakeVerdict v;
        Handshake h;
        ssize_t k;
        size_t n = c->n_rest;

        memcpy(m->line, c->rest ?: "", n);
        k = recv(c->fd, m->line + n, sizeof(m->line) - n, 0);
        if (k == 0 || (k < 0 && errno != EAGAIN && errno != EINTR)) {
                client_end(c, OUTCOME_CLOSED_EARLY);
                return;
        }
        n += (size_t) MAX(k, (ssize_t) 0);

        v = handshake_check(m->manifest->token, m->enabled, m->manifest->n_services, m->line, n, &h);
        switch (v) {
        case HANDSHAKE_MORE:
                client_wait(c, m->line, n);
                break;
        case HANDSHAKE_ACCEPTED:
                client_accepted(c, &h, m->line, n);
                break;
        case HANDSHAKE_UNKNOWN_SERVICE:
        case HANDSHAKE_NOT_ENABLED:
                client_refuse_name(c, &h, outcome_of_handshake(v));
                break;
        default:
                client_end(c, outcome_of_handshake(v));
        }
}

static int on_io(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Client *c = userdata;

        if (c->state == CLIENT_WAITING)
                client_read_line(c);
        else if (c->state == CLIENT_RELAYING)
                client_relay_said(c, relay_dispatch(&c->relay, fd, revents));

        return 0;
}

void client_begin(Manager *m, int fd, Peer peer) {
        Client *c;

        c = new0(Client, 1);
        if (!c) {
                fd_close(fd);
                client_report(m, OUTCOME_OUT_OF_RESOURCES, peer);
                return;
        }

        c->manager = m;
        c->fd = fd;
        c->peer = peer;
        c->since = now_usec();
        client_read_line(c);
}
