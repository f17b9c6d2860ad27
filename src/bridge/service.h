/* SPDX-License-Identifier: MIT */
#pragma once

/* What a connection does once its first line is accepted: a row of functions for each kind of service. The
 * client (client.h) knows the connection from accept to end; what a service keeps about it is its session,
 * which exists only while the service has the connection. */

#include "bridge/client.h"
#include "bridge/report.h"

struct ServiceOps {
        /* The connection is the service's now: the descriptor stays in `c->fd`, or is taken out; what came
         * behind the line, in `c->rest`, likewise. The client may have ended when this returns. */
        void (*begin)(Client *c);

        /* Frees `c->session`, which may be NULL, with every watch and descriptor in it. The guest's is in `c->fd`
         * afterwards, in no poll set, unless it has been closed. */
        void (*free)(Client *c);

        /* Adds to the journal's entry what the session knows. `c->session` may be NULL. */
        void (*account)(const Client *c, ConnectionEnd *end);

        /* The supervisor has answered what `c->asks_supervisor` waited for. NULL: the service never asks.
         * The client may have ended when this returns. */
        void (*supervisor_answered)(Client *c, bool ok);
};

extern const ServiceOps service_relay;
extern const ServiceOps service_ssh;
extern const ServiceOps service_question;
extern const ServiceOps service_chrome;

const ServiceOps *service_ops(ServiceKind kind);
