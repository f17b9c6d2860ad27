/* SPDX-License-Identifier: MIT */

#include <string.h>

#include "bridge/handshake.h"

/* From here on whether the token was right may be branched on, but nothing else that was computed from it.
 * The test of constant time redefines this, to tell valgrind. */
#ifndef TOKEN_VERDICT_IS_PUBLIC
#define TOKEN_VERDICT_IS_PUBLIC(x) ((void) (x))
#endif

static const char *const handshake_verdict_table[] = {
        [HANDSHAKE_MORE] = "incomplete",
        [HANDSHAKE_ACCEPTED] = "accepted",
        [HANDSHAKE_TOO_LONG] = "line-too-long",
        [HANDSHAKE_NUL] = "nul-in-line",
        [HANDSHAKE_MALFORMED] = "malformed-line",
        [HANDSHAKE_BAD_TOKEN] = "bad-token",
        [HANDSHAKE_UNKNOWN_SERVICE] = "unknown-service",
        [HANDSHAKE_NOT_ENABLED] = "service-not-enabled",
};
static_assert(ELEMENTSOF(handshake_verdict_table) == _HANDSHAKE_VERDICT_MAX, "every verdict has a name");

const char *handshake_verdict_to_string(HandshakeVerdict v) {
        return v < _HANDSHAKE_VERDICT_MAX ? handshake_verdict_table[v] : "?";
}

/* 0 when equal. Neither branches nor indexes by what it compares. The empty asm makes each intermediate
 * value opaque, so that the compiler cannot find out that it may stop early. */
static unsigned token_difference(const char *a, const char *b) {
        unsigned d = 0;

        for (size_t i = 0; i < WIRE_TOKEN_LENGTH; i++) {
                d |= (unsigned) ((unsigned char) a[i] ^ (unsigned char) b[i]);
                __asm__ volatile("" : "+r"(d));
        }

        return d;
}

static bool token_is_right(const char *token, const char *given, size_t n) {
        char padded[WIRE_TOKEN_LENGTH] = {};
        unsigned d;

        memcpy(padded, given, MIN(n, sizeof(padded)));
        d = token_difference(token, padded);
        TOKEN_VERDICT_IS_PUBLIC(d);

        return d == 0 && n == WIRE_TOKEN_LENGTH;
}

static bool service_is_enabled(ServiceId id, const ServiceId *enabled, size_t n_enabled) {
        for (size_t i = 0; i < n_enabled; i++)
                if (enabled[i].kind == id.kind && enabled[i].index == id.index)
                        return true;

        return false;
}

HandshakeVerdict handshake_check(const char *token, const ServiceId *enabled, size_t n_enabled,
                const char *buf, size_t n, Handshake *ret) {

        const char *newline, *blank;
        Handshake h = {};
        bool right;
        size_t end;

        newline = memchr(buf, '\n', MIN(n, (size_t) WIRE_LINE_MAX));
        end = newline ? (size_t) (newline - buf) : MIN(n, (size_t) WIRE_LINE_MAX);
        if (memchr(buf, '\0', end))
                return HANDSHAKE_NUL;
        if (!newline)
                return end < WIRE_LINE_MAX ? HANDSHAKE_MORE : HANDSHAKE_TOO_LONG;

        blank = memchr(buf, ' ', end);
        right = token_is_right(token, buf, blank ? (size_t) (blank - buf) : end);
        if (!blank)
                return HANDSHAKE_MALFORMED;
        if (!right)
                return HANDSHAKE_BAD_TOKEN;

        h.name = blank + 1;
        h.name_length = (size_t) (newline - h.name);
        h.consumed = end + 1;
        *ret = h;
        if (service_parse(h.name, h.name_length, &ret->service) < 0)
                return HANDSHAKE_UNKNOWN_SERVICE;

        return service_is_enabled(ret->service, enabled, n_enabled) ? HANDSHAKE_ACCEPTED
                                                                    : HANDSHAKE_NOT_ENABLED;
}
