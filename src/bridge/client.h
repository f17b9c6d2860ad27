/* SPDX-License-Identifier: MIT */
#pragma once

/* One connection, from accept to end: first its line, then its service. */

#include "bridge/manager.h"

typedef enum ClientState {
        CLIENT_NEW,
        CLIENT_WAITING,    /* for the rest of its first line */
        CLIENT_CONNECTING, /* to the host's socket, whose queue is full */
        CLIENT_STARTING,   /* the supervisor was asked for the agent */
        CLIENT_RELAYING,
        _CLIENT_STATE_MAX,
} ClientState;

struct Client {
        Manager *manager;
        Client **list; /* the manager's list that it is in, or NULL */
        Client *previous;
        Client *next;
        ClientState state;
        int fd;         /* until the relay has it */
        uint64_t since; /* when the connection was made */
        Peer peer;
        const ManifestService *service;
        char *rest; /* a part of a line; later what came behind it */
        size_t n_rest;
        bool restarted; /* the agent was asked for already */
        sd_event_source *sources[_RELAY_SIDE_MAX];
        sd_event_source *retry_timer;
        uint64_t retry_usec;
        uint64_t stalled_since; /* 0: its relay is not stalled */
        Relay relay;
};

/* A connection whose peer has been checked. Owns `fd`. The client looks after itself: it may have ended when
 * this returns. */
void client_begin(Manager *m, int fd, Peer peer);

/* Ends and frees it. */
void client_end(Client *c, Outcome outcome);

/* What client_end() says of connections that never became a client. */
void client_report(Manager *m, Outcome outcome, Peer peer);

/* The supervisor has answered. */
void client_agent_started(Client *c, bool ok);
