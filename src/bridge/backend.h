/* SPDX-License-Identifier: MIT */
#pragma once

/* Reaching a service's Unix socket on the host, afresh for each connection, so that an agent that was
 * restarted is picked up. */

#include "bridge/client.h"

typedef void (*BackendConnected)(Client *c, int fd);

typedef struct Backend {
        Client *client;
        BackendConnected connected; /* owns `fd`; the client may have ended when it returns */
        sd_event_source *retry_timer;
        uint64_t retry_usec;
        bool asked; /* the supervisor, to start the agent */
} Backend;

/* Connects, now or a little later, or ends the client. Nothing is to be read from the client before that:
 * there is nobody to pass it on to. */
void backend_connect(Backend *b);

/* The supervisor has answered. */
void backend_started(Backend *b, bool ok);

/* Gives up what is under way. */
void backend_done(Backend *b);
