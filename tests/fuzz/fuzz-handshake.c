/* SPDX-License-Identifier: MIT */

/* The first bytes of a connection. Nobody gets in but by exactly two lines, and how the bytes are cut changes nothing. */

#include <string.h>

#include "bridge/handshake.h"
#include "fuzz.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const ServiceId enabled[] = {
        { .kind = SERVICE_SSH, .index = 1 },
        { .kind = SERVICE_GPG },
};

static HandshakeVerdict check(const char *buf, size_t n, Handshake *ret) {
        return handshake_check(TOKEN, enabled, ELEMENTSOF(enabled), buf, n, ret);
}

static bool begins_with(const char *buf, size_t n, const char *line) {
        return n >= strlen(line) && memcmp(buf, line, strlen(line)) == 0;
}

static void check_verdict(const char *buf, size_t n, HandshakeVerdict v, const Handshake *h) {
        const bool ssh = begins_with(buf, n, TOKEN " ssh-1\n"), gpg = begins_with(buf, n, TOKEN " gpg\n");

        PROPERTY(v < _HANDSHAKE_VERDICT_MAX);
        PROPERTY((v == HANDSHAKE_ACCEPTED) == (ssh || gpg));

        if (v == HANDSHAKE_ACCEPTED) {
                PROPERTY(h->service.kind == (ssh ? SERVICE_SSH : SERVICE_GPG));
                PROPERTY(h->consumed == (ssh ? STRLEN(TOKEN " ssh-1\n") : STRLEN(TOKEN " gpg\n")));
        }
        if (v == HANDSHAKE_UNKNOWN_SERVICE || v == HANDSHAKE_NOT_ENABLED) {
                PROPERTY(begins_with(buf, n, TOKEN " "));
                PROPERTY(h->name == buf + STRLEN(TOKEN " "));
                PROPERTY(h->name_length < WIRE_LINE_MAX && h->name[h->name_length] == '\n');
        }
        if (v == HANDSHAKE_MORE)
                PROPERTY(n < WIRE_LINE_MAX && !memchr(buf, '\n', n) && !memchr(buf, '\0', n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *buf = (const char *) data;
        /* Every cut of a short input, some of a long one. */
        const size_t step = size / 256 + 1;
        HandshakeVerdict whole;
        Handshake h = {};

        whole = check(buf, size, &h);
        check_verdict(buf, size, whole, &h);

        for (size_t n = 0; n < size; n += step) {
                HandshakeVerdict part;
                Handshake p = {};

                part = check(buf, n, &p);
                check_verdict(buf, n, part, &p);
                if (part == HANDSHAKE_MORE)
                        continue;

                PROPERTY(part == whole);
                PROPERTY(p.consumed == h.consumed && p.name == h.name && p.name_length == h.name_length);
        }

        return 0;
}
