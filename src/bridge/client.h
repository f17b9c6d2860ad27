/* SPDX-License-Identifier: MIT */
#pragma once

/* One connection, from accept to end: first its line, then its service (service.h). */

#include "bridge/manager.h"

typedef struct ServiceOps ServiceOps;

typedef enum ClientState {
        CLIENT_NEW,
        CLIENT_WAITING, /* for the rest of its first line */
        CLIENT_OPEN,    /* its service has it */
        _CLIENT_STATE_MAX,
} ClientState;

struct Client {
        Manager *manager;
        Client **list; /* the manager's list that it is in, or NULL */
        Client *previous;
        Client *next;
        ClientState state;
        bool asks_supervisor; /* its service waits for an answer */
        bool lingers;         /* what it gets is worth waiting for when it ends */
        bool guest_ended;     /* the guest had sent its last then */
        int fd;               /* until the service takes it, and when it has given it back */
        uint64_t since;       /* when the connection was made */
        Peer peer;
        char *rest; /* a part of a line; later what came behind it */
        size_t n_rest;
        sd_event_source *source; /* while it waits for its line */
        uint64_t stalled_since;  /* 0: its service holds nothing that somebody should take */
        const ManifestService *service;
        const ServiceOps *ops; /* of the service; NULL before */
        void *session;         /* the service's */
};

/* A connection whose peer has been checked. Owns `fd`. The client looks after itself: it may have ended when
 * this returns. */
void client_begin(Manager *m, int fd, Peer peer);

/* Ends and frees it. What is on its way to the guest gets there (linger.h), unless it has stalled. */
void client_end(Client *c, Outcome outcome);

/* Its halves, for when all end: says how it did; frees it at once, with what is on its way. */
void client_account(Client *c, Outcome outcome);
Client *client_free(Client *c);

/* What client_end() says of connections that never became a client. */
void client_report(Manager *m, Outcome outcome, Peer peer);

/* What a failed system call or allocation means for a connection: OUTCOME_OUT_OF_RESOURCES or
 * OUTCOME_BACKEND_GONE. `error` is negative errno. */
Outcome outcome_of_error(int error);

/* The supervisor has answered one that asks. */
void client_supervisor_answered(Client *c, bool ok);
