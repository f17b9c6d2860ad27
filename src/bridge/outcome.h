/* SPDX-License-Identifier: MIT */
#pragma once

/* How a connection can end. */

#include "bridge/handshake.h"
#include "bridge/peer.h"

typedef enum Outcome {
        OUTCOME_SERVED,
        OUTCOME_BROKEN_OFF,   /* served, until one of the ends failed */
        OUTCOME_LAUNCH_ENDED, /* served, until the bridge was stopped */
        OUTCOME_BAD_MESSAGE,  /* served, until what it sent was none of the service's protocol */
        OUTCOME_STALLED,      /* served, until too many were waiting for somebody to read */
        OUTCOME_FAILED,       /* what was asked for was tried */
        OUTCOME_BAD_FRAME,    /* served, until a message was malformed or cut off */
        OUTCOME_NOT_TOLD,     /* served, until there was a signature that the journal did not take */

        OUTCOME_FOREIGN_UID,
        _OUTCOME_REFUSED_FIRST = OUTCOME_FOREIGN_UID,
        OUTCOME_FOREIGN_CGROUP,
        OUTCOME_PEER_GONE,
        OUTCOME_PEER_UNKNOWN,
        OUTCOME_LINE_TOO_LONG,
        OUTCOME_NUL,
        OUTCOME_MALFORMED,
        OUTCOME_BAD_TOKEN,
        OUTCOME_UNKNOWN_SERVICE,
        OUTCOME_NOT_ENABLED,
        OUTCOME_CLOSED_EARLY, /* by the client, before its line was complete */
        OUTCOME_LINE_TIMEOUT,
        OUTCOME_CROWDED_OUT, /* the oldest of too many without a line */
        OUTCOME_TOO_MANY,    /* relays */
        OUTCOME_REQUEST_REFUSED, /* by the service, which answers so */
        OUTCOME_BACKEND_GONE,
        OUTCOME_BACKEND_UNSAFE,
        OUTCOME_OUT_OF_RESOURCES,
        _OUTCOME_MAX,
} Outcome;

/* A word for fields, and half a sentence for people. */
const char *outcome_to_string(Outcome o);
const char *outcome_to_text(Outcome o);

static inline bool outcome_is_refused(Outcome o) {
        return o >= _OUTCOME_REFUSED_FIRST;
}

/* The verdict must be one that does not let the connection go on. */
Outcome outcome_of_peer(PeerVerdict v);
Outcome outcome_of_handshake(HandshakeVerdict v);
