/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * A connection begins with accept() on a guest's socket and a connect() to the bridge that is not waited
 * for. When that has come about, whatever the client has sent by then is sent along behind the handshake: an
 * agent's client has its request ready by that time, so that one packet carries both. From there on the
 * relay has the connection.
 *
 * A bridge that refuses closes without a byte; the relay passes that on as an end of file. A bridge that
 * cannot be reached closes the client's connection. Nothing is retried here: the client does, and finds the
 * bridge again when it is back.
 *
 * When all places are taken, listening sockets are not watched, and clients wait in the kernel's queue. */

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/relay.h"
#include "guest/forward.h"

#define FIRST_DATA_MAX (4 * KIB)
#define ACCEPT_ROUNDS_MAX 16

/* Descriptors that are not the connections'; each of these has up to four, two of them a relay's pipe. */
#define FDS_RESERVED 64
#define FDS_PER_CONNECTION 4

typedef enum ConnectionState {
        CONNECTION_CONNECTING, /* to the bridge; nothing is read from the client */
        CONNECTION_RELAYING,
        CONNECTION_CLOSED,
        _CONNECTION_STATE_MAX,
} ConnectionState;

static const char *const connection_state_table[] = {
        [CONNECTION_CONNECTING] = "connecting",
        [CONNECTION_RELAYING] = "relaying",
        [CONNECTION_CLOSED] = "closed",
};
static_assert(ELEMENTSOF(connection_state_table) == _CONNECTION_STATE_MAX, "every state has a name");

typedef struct Listener {
        EventSource source;
        char service[WIRE_SERVICE_MAX];
        Forwarder *forwarder;
} Listener;

struct Forwarder {
        Events *events;
        const Bridge *bridge;
        RelayShared *shared;
        Listener listeners[FORWARDS_MAX];
        size_t n_listeners;
        size_t n_connections;
        size_t max_connections;
};

typedef struct Connection {
        Relay relay; /* from the client, RELAY_A, to the bridge, RELAY_B; first, see connection_watch() */
        ConnectionState state;
        const Listener *listener;
        EventSource client;
        EventSource bridge;
} Connection;

static_assert(offsetof(Connection, relay) == 0, "a relay's address is its connection's");

/* Connections are accepted while there is a place for them. Nobody else watches the listening sockets. */
static int forwarder_watch(Forwarder *f) {
        uint32_t mask = f->n_connections < f->max_connections ? EPOLLIN : 0;

        for (size_t i = 0; i < f->n_listeners; i++) {
                int r;

                r = events_watch(f->events, &f->listeners[i].source, mask);
                if (r < 0)
                        return r;
        }

        return 0;
}

static void connection_set_state(Connection *c, ConnectionState state) {
        log_debug("%s: connection %p: %s → %s", c->listener->service, (void *) c,
                        connection_state_table[c->state], connection_state_table[state]);
        c->state = state;
}

static int connection_close(Connection *c) {
        Forwarder *f = c->listener->forwarder;

        connection_set_state(c, CONNECTION_CLOSED);
        (void) events_watch(f->events, &c->client, 0);
        (void) events_watch(f->events, &c->bridge, 0);
        relay_done(&c->relay);
        free(c);

        f->n_connections--;
        return forwarder_watch(f);
}

static int connection_watch(Relay *r, int fd, uint32_t events) {
        Connection *c = (Connection *) r;

        return events_watch(c->listener->forwarder->events, fd == c->client.fd ? &c->client : &c->bridge,
                        events);
}

/* Connected, or failed to: the first bytes tell. */
static int connection_start(Connection *c) {
        char buf[WIRE_LINE_MAX + FIRST_DATA_MAX];
        ssize_t k;
        size_t n;
        int r;

        n = bridge_format_handshake(c->listener->forwarder->bridge, c->listener->service, buf);
        k = recv(c->client.fd, buf + n, FIRST_DATA_MAX, MSG_DONTWAIT);
        if (k > 0)
                n += (size_t) k; /* an end of file or an error is there for the relay, too */

        r = relay_push(&c->relay, RELAY_A, buf, n);
        explicit_bzero(buf, n);
        if (r < 0)
                return r;
        if (c->relay.flows[RELAY_A].state == RELAY_STATE_BROKEN)
                return c->relay.flows[RELAY_A].error ?: -EPIPE;

        connection_set_state(c, CONNECTION_RELAYING);
        return relay_start(&c->relay);
}

static int connection_dispatch(EventSource *s, uint32_t revents) {
        Connection *c = s->userdata;
        int r;

        if (c->state == CONNECTION_CONNECTING)
                r = connection_start(c);
        else
                r = relay_dispatch(&c->relay, s->fd, revents);
        if (r == 0)
                return 0;

        if (r < 0)
                log_debug("%s: %s", c->listener->service, strerror(-r));
        return connection_close(c);
}

/* Owns `client_fd` from entry on. */
static int connection_new(const Listener *l, int client_fd) {
        _cleanup_close_ int client = client_fd, bridge = -EBADF;
        Forwarder *f = l->forwarder;
        Connection *c;
        int r;

        bridge = bridge_connect(f->bridge);
        if (bridge < 0)
                return bridge;

        c = new(Connection, 1);
        if (!c)
                return -ENOMEM;

        *c = (Connection) {
                .state = CONNECTION_CONNECTING,
                .listener = l,
                .client = { .fd = client, .dispatch = connection_dispatch, .userdata = c },
                .bridge = { .fd = bridge, .dispatch = connection_dispatch, .userdata = c },
        };
        r = events_watch(f->events, &c->bridge, EPOLLOUT);
        if (r < 0) {
                free(c);
                return r;
        }

        relay_init(&c->relay, f->shared, connection_watch, RELAY_SOCKET(client), RELAY_SOCKET(bridge));
        client = bridge = -EBADF; /* the relay's */
        f->n_connections++;
        return 0;
}

/* No descriptor or no memory in the whole system: without a pause this would be tried again at once, for
 * ever. */
static void listener_pause(void) {
        (void) clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec) { .tv_nsec = 10 * 1000 * 1000 }, NULL);
}

static int listener_dispatch(EventSource *s, uint32_t revents) {
        Listener *l = s->userdata;
        Forwarder *f = l->forwarder;

        for (int i = 0; i < ACCEPT_ROUNDS_MAX && f->n_connections < f->max_connections; i++) {
                int fd, r;

                fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
                if (fd < 0) {
                        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                                listener_pause();
                        break;
                }

                r = connection_new(l, fd);
                if (r < 0)
                        log_debug("%s: no connection to the bridge: %s", l->service, strerror(-r));
        }

        return forwarder_watch(f);
}

int forwarder_new(Events *events, const Bridge *bridge, size_t max_fds, Forwarder **ret) {
        size_t affordable = max_fds > FDS_RESERVED ? (max_fds - FDS_RESERVED) / FDS_PER_CONNECTION : 0;
        _cleanup_free_ Forwarder *f = NULL;

        f = new(Forwarder, 1);
        if (!f)
                return -ENOMEM;

        *f = (Forwarder) {
                .events = events,
                .bridge = bridge,
                .max_connections = MAX(MIN((size_t) FORWARD_CONNECTIONS_MAX, affordable), (size_t) 1),
                .shared = relay_shared_new(),
        };
        if (!f->shared)
                return -ENOMEM;

        *ret = TAKE_PTR(f);
        return 0;
}

int forwarder_add(Forwarder *f, int fd, ServiceId service) {
        Listener *l = &f->listeners[f->n_listeners];
        int r;

        assert(f->n_listeners < FORWARDS_MAX);

        *l = (Listener) {
                .forwarder = f,
                .source = { .fd = fd, .dispatch = listener_dispatch, .userdata = l },
        };
        service_format(service, l->service);

        r = events_watch(f->events, &l->source, EPOLLIN);
        if (r < 0) {
                (void) fd_close(fd);
                return r;
        }

        f->n_listeners++;
        return 0;
}
