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
#include "bridge/buffers.h"
#include "bridge/client.h"
#include "bridge/handshake.h"
#include "bridge/service.h"

#define AGE_MIN_USEC (20 * USEC_PER_MSEC) /* the clock is coarse: below, the order of accepting holds */
#define AGE_MAX_USEC (60 * USEC_PER_SEC)

static const char *const client_state_table[] = {
        [CLIENT_NEW] = "new",
        [CLIENT_WAITING] = "waiting",
        [CLIENT_OPEN] = "open",
};
static_assert(ELEMENTSOF(client_state_table) == _CLIENT_STATE_MAX, "every state has a name");

static void client_read_line(Client *c);

static void client_set_state(Client *c, ClientState state) {
        log_debug("Client %p: %s -> %s.", (void *) c, client_state_table[c->state],
                        client_state_table[state]);
        c->state = state;
}

Client *client_free(Client *c) {
        if (!c)
                return NULL;

        manager_remove(c->manager, c);
        if (c->ops)
                c->ops->free(c);
        sd_event_source_disable_unref(c->source);
        if (c->lingers && c->fd >= 0)
                linger_take(c->manager->linger, c->fd, c->guest_ended);
        else
                linger_give_up(c->fd);
        free(c->rest);
        free(c);
        return NULL;
}

/* Ends */

void client_report(Manager *m, Outcome outcome, Peer peer) {
        const ConnectionEnd end = { .outcome = outcome, .peer = peer };

        report_end(m->report, &end);
}

static void client_account_asking(Client *c, Outcome outcome, const char *asked_for) {
        ConnectionEnd end = {
                .outcome = outcome,
                .service = c->service,
                .asked_for = asked_for,
                .peer = c->peer,
                .duration = now_usec() - c->since,
        };

        if (c->ops)
                c->ops->account(c, &end);
        report_end(c->manager->report, &end);
}

void client_account(Client *c, Outcome outcome) {
        client_account_asking(c, outcome, NULL);
}

void client_end(Client *c, Outcome outcome) {
        client_account(c, outcome);
        c->lingers = c->ops && outcome != OUTCOME_STALLED;
        client_free(c);
}

Outcome outcome_of_error(int error) {
        return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -ENOBUFS
                               ? OUTCOME_OUT_OF_RESOURCES
                               : OUTCOME_BACKEND_GONE;
}

void client_supervisor_answered(Client *c, bool ok) {
        c->asks_supervisor = false;
        c->ops->supervisor_answered(c, ok);
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

        c->source = sd_event_source_disable_unref(c->source);
        manager_remove(m, c);
        manager_add_open(m, c);
        buffers_of_client(c->fd, m->n_open);
        client_set_state(c, CLIENT_OPEN);
        c->ops = service_ops(h->service.kind);
        c->ops->begin(c);
}

/* The name of a service that does not exist, for the journal. Never with the token in it, wherever it
 * stands. */
static void client_refuse_name(Client *c, const Handshake *h, Outcome outcome) {
        _cleanup_free_ char *name = NULL;

        if (!memmem(h->name, h->name_length, c->manager->manifest->token, WIRE_TOKEN_LENGTH))
                name = memdup_nul(h->name, h->name_length);

        client_account_asking(c, outcome, name);
        client_free(c);
}

/* How long ago the connection was made, as far as that can still be told. It was accepted now, but may have
 * waited in the kernel: until its first byte (the kernel measures that as the round trip of the first
 * packet) or until it was clear that none would come (then it has no measure), then in the queue, where it
 * may well go on sending. That we have never sent anything counts from when it came there. */
static uint64_t connection_age(int fd) {
        struct tcp_info info = {};
        socklen_t n = sizeof(info);
        uint64_t age;

        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) < 0)
                return 0;

        age = info.tcpi_last_data_sent * USEC_PER_MSEC;
        age += info.tcpi_rtt > 0 ? info.tcpi_rtt : DEFER_SECONDS * USEC_PER_SEC;
        return age < AGE_MIN_USEC ? 0 : MIN(age, AGE_MAX_USEC);
}

static int on_line(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        client_read_line(userdata);
        return 0;
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

        if (sd_event_add_io(m->event, &c->source, c->fd, EPOLLIN, on_line, c) < 0) {
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
