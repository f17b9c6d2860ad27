/* SPDX-License-Identifier: MIT */
#pragma once

/* The first line of a connection, "<token> <service>\n", as a pure function: bytes in, verdict out. The
 * token is compared in constant time: every byte is looked at whatever it holds, and whatever else is wrong
 * with the line. */

#include "basic/macro.h"
#include "basic/wire.h"

typedef enum HandshakeVerdict {
        HANDSHAKE_MORE, /* no whole line yet */
        HANDSHAKE_ACCEPTED,
        HANDSHAKE_TOO_LONG,
        HANDSHAKE_NUL,
        HANDSHAKE_MALFORMED, /* no blank behind a token */
        HANDSHAKE_BAD_TOKEN,
        HANDSHAKE_UNKNOWN_SERVICE, /* from here on the token was right */
        HANDSHAKE_NOT_ENABLED,
        _HANDSHAKE_VERDICT_MAX,
} HandshakeVerdict;

const char *handshake_verdict_to_string(HandshakeVerdict v);

typedef struct Handshake {
        ServiceId service; /* when accepted or not enabled */
        const char *name;  /* what was asked for, when the token was right; foreign text, in the buffer */
        size_t name_length;
        size_t consumed; /* the line's length, its newline included, when accepted */
} Handshake;

/* `token` are WIRE_TOKEN_LENGTH characters; `enabled` the services of this launch. */
HandshakeVerdict handshake_check(const char *token, const ServiceId *enabled, size_t n_enabled,
                const char *buf, size_t n, Handshake *ret);
