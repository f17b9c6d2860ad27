/* SPDX-License-Identifier: MIT */

/* Marks the token as undefined and lets valgrind's memcheck watch the handshake: a branch or an address that
 * depends on the token is an error there, whatever the time it takes. What the comparison amounts to is the
 * one thing that may be known. The unit is included and not linked, so that the verdict can be declared
 * public at exactly its place in it. */

#include <stdio.h>
#include <string.h>

#include <valgrind/memcheck.h>

#ifdef EARLY_EXIT
/* The control: the comparison that must not be, put into the place of the real one's result. valgrind has to see it. */
static unsigned early_exit_difference(const char *a, const char *b, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (a[i] != b[i])
                        return 1;

        return 0;
}

#define TOKEN_VERDICT_IS_PUBLIC(x) ((x) = early_exit_difference(token, padded, sizeof(padded)))
#else
#define TOKEN_VERDICT_IS_PUBLIC(x) VALGRIND_MAKE_MEM_DEFINED(&(x), sizeof(x))
#endif
#include "bridge/handshake.c"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
        const char *line;
        HandshakeVerdict expected;
} rows[] = {
        { TOKEN " gpg\n", HANDSHAKE_ACCEPTED },
        { TOKEN " ssh-3\n", HANDSHAKE_NOT_ENABLED },
        { TOKEN " nonsense\n", HANDSHAKE_UNKNOWN_SERVICE },
        { "x" TOKEN " gpg\n", HANDSHAKE_BAD_TOKEN },
        { TOKEN "x gpg\n", HANDSHAKE_BAD_TOKEN },
        { "x123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef gpg\n", HANDSHAKE_BAD_TOKEN },
        { "0123456789abcdef0123456789abcdefx123456789abcdef0123456789abcdef nonsense\n",
                        HANDSHAKE_BAD_TOKEN },
        { "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdex gpg\n", HANDSHAKE_BAD_TOKEN },
        { "0 gpg\n", HANDSHAKE_BAD_TOKEN },
        { " gpg\n", HANDSHAKE_BAD_TOKEN },
        { TOKEN "\n", HANDSHAKE_MALFORMED },
        { "\n", HANDSHAKE_MALFORMED },
        { TOKEN " gpg", HANDSHAKE_MORE },
};

int main(void) {
        static const ServiceId enabled[] = { { .kind = SERVICE_GPG } };
        char token[] = TOKEN;
        unsigned before;

        if (!RUNNING_ON_VALGRIND)
                return 77;

        (void) VALGRIND_MAKE_MEM_UNDEFINED(token, WIRE_TOKEN_LENGTH);
        before = VALGRIND_COUNT_ERRORS;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                HandshakeVerdict v;
                Handshake h;

                v = handshake_check(
                                token, enabled, ELEMENTSOF(enabled), rows[i].line, strlen(rows[i].line), &h);
                if (v != rows[i].expected) {
                        fprintf(stderr, "row %zu: %s\n", i, handshake_verdict_to_string(v));
                        return 1;
                }
        }

#ifdef EARLY_EXIT
        return VALGRIND_COUNT_ERRORS == before;
#endif
        if (VALGRIND_COUNT_ERRORS != before) {
                fprintf(stderr, "the handshake branches on the token\n");
                return 1;
        }

        return 0;
}
