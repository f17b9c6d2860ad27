/* SPDX-License-Identifier: MIT */

#include "bridge/outcome.h"

static const struct {
        const char *name;
        const char *text;
} outcome_table[] = {
        [OUTCOME_SERVED] = { "served", "both sides were done" },
        [OUTCOME_BROKEN_OFF] = { "broken-off", "one side broke off" },
        [OUTCOME_LAUNCH_ENDED] = { "launch-ended", "the launch has ended" },
        [OUTCOME_BAD_MESSAGE] = { "bad-message", "it sent what no such service understands" },
        [OUTCOME_STALLED] = { "stalled", "nobody read what it sent, and too many others waited likewise" },
        [OUTCOME_FAILED] = { "failed", "the host could not do it" },
        [OUTCOME_BAD_FRAME] = { "bad-frame", "a message was malformed or cut off" },
        [OUTCOME_NOT_TOLD] = { "not-told", "the journal did not take the entry about a signature, so it was held back" },
        [OUTCOME_FOREIGN_UID] = { "foreign-uid", "it comes from another user" },
        [OUTCOME_FOREIGN_CGROUP] = { "foreign-cgroup", "it comes from outside of this launch" },
        [OUTCOME_PEER_GONE] = { "peer-gone", "it was closed before it could be asked whose it is" },
        [OUTCOME_PEER_UNKNOWN] = { "peer-unknown", "the kernel does not say whose it is" },
        [OUTCOME_LINE_TOO_LONG] = { "line-too-long", "its first line is too long" },
        [OUTCOME_NUL] = { "nul-in-line", "its first line holds a NUL" },
        [OUTCOME_MALFORMED] = { "malformed-line", "its first line is no handshake" },
        [OUTCOME_BAD_TOKEN] = { "bad-token", "its token is wrong" },
        [OUTCOME_UNKNOWN_SERVICE] = { "unknown-service", "there is no such service" },
        [OUTCOME_NOT_ENABLED] = { "service-not-enabled", "this launch does not have that service" },
        [OUTCOME_CLOSED_EARLY] = { "closed-early", "it was closed before its first line was complete" },
        [OUTCOME_LINE_TIMEOUT] = { "line-timeout", "its first line was not complete in time" },
        [OUTCOME_CROWDED_OUT] = { "crowded-out", "too many others wait for their first line" },
        [OUTCOME_TOO_MANY] = { "too-many", "too many connections are open" },
        [OUTCOME_REQUEST_REFUSED] = { "request-refused", "what it asks for is not allowed" },
        [OUTCOME_BACKEND_GONE] = { "backend-gone", "the host's socket does not answer" },
        [OUTCOME_BACKEND_UNSAFE] = { "backend-unsafe", "others could have put something in the place of the host's socket" },
        [OUTCOME_OUT_OF_RESOURCES] = { "out-of-resources", "memory or descriptors are used up" },
};
static_assert(ELEMENTSOF(outcome_table) == _OUTCOME_MAX, "every outcome has a name");

const char *outcome_to_string(Outcome o) {
        return o < _OUTCOME_MAX ? outcome_table[o].name : "?";
}

const char *outcome_to_text(Outcome o) {
        return o < _OUTCOME_MAX ? outcome_table[o].text : "?";
}

Outcome outcome_of_peer(PeerVerdict v) {
        switch (v) {
        case PEER_FOREIGN_UID:
                return OUTCOME_FOREIGN_UID;
        case PEER_FOREIGN_CGROUP:
                return OUTCOME_FOREIGN_CGROUP;
        case PEER_GONE:
                return OUTCOME_PEER_GONE;
        default:
                return OUTCOME_PEER_UNKNOWN;
        }
}

Outcome outcome_of_handshake(HandshakeVerdict v) {
        switch (v) {
        case HANDSHAKE_TOO_LONG:
                return OUTCOME_LINE_TOO_LONG;
        case HANDSHAKE_NUL:
                return OUTCOME_NUL;
        case HANDSHAKE_BAD_TOKEN:
                return OUTCOME_BAD_TOKEN;
        case HANDSHAKE_UNKNOWN_SERVICE:
                return OUTCOME_UNKNOWN_SERVICE;
        case HANDSHAKE_NOT_ENABLED:
                return OUTCOME_NOT_ENABLED;
        default:
                return OUTCOME_MALFORMED;
        }
}
