/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bridge/handshake.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdee"

static const ServiceId enabled[] = {
        { .kind = SERVICE_SSH, .index = 0 },
        { .kind = SERVICE_GPG },
};

static HandshakeVerdict check(const char *buf, size_t n, Handshake *ret) {
        return handshake_check(TOKEN, enabled, ELEMENTSOF(enabled), buf, n, ret);
}

typedef struct Row {
        const char *line;
        size_t n; /* 0: up to the NUL */
        HandshakeVerdict expected;
} Row;

static const Row rows[] = {
        { TOKEN " ssh-0\n", 0, HANDSHAKE_ACCEPTED },
        { TOKEN " gpg\n", 0, HANDSHAKE_ACCEPTED },
        { TOKEN " gpg\n\0\1\2", 72, HANDSHAKE_ACCEPTED },
        { "", 0, HANDSHAKE_MORE },
        { TOKEN, 0, HANDSHAKE_MORE },
        { TOKEN " ", 0, HANDSHAKE_MORE },
        { TOKEN " gpg", 0, HANDSHAKE_MORE },
        { OTHER " gpg", 0, HANDSHAKE_MORE },
        { OTHER " gpg\n", 0, HANDSHAKE_BAD_TOKEN },
        { OTHER " nonsense\n", 0, HANDSHAKE_BAD_TOKEN },
        { "1" TOKEN " gpg\n", 0, HANDSHAKE_BAD_TOKEN },
        { TOKEN "0 gpg\n", 0, HANDSHAKE_BAD_TOKEN },
        { " " TOKEN " gpg\n", 0, HANDSHAKE_BAD_TOKEN },
        { " gpg\n", 0, HANDSHAKE_BAD_TOKEN },
        { "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF gpg\n", 0, HANDSHAKE_BAD_TOKEN },
        { "0123456789abcdef gpg\n", 0, HANDSHAKE_BAD_TOKEN },
        { TOKEN "\n", 0, HANDSHAKE_MALFORMED },
        { "\n", 0, HANDSHAKE_MALFORMED },
        { "gpg\n", 0, HANDSHAKE_MALFORMED },
        { TOKEN "\tgpg\n", 0, HANDSHAKE_MALFORMED },
        { TOKEN " \n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN "  gpg\n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN " gpg \n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN " gpg\r\n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN " GPG\n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN " ssh\n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN " ssh-\n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN " ssh-00\n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN " ssh-9\n", 0, HANDSHAKE_UNKNOWN_SERVICE },
        { TOKEN " ssh-1\n", 0, HANDSHAKE_NOT_ENABLED },
        { "\0", 1, HANDSHAKE_NUL },
        { TOKEN "\0", 65, HANDSHAKE_NUL },
        { TOKEN " gpg\0\n", 70, HANDSHAKE_NUL },
        { "GET / HTTP/1.1\r\nHost: rebind.invalid:7001\r\nOrigin: https://rebind.invalid\r\n\r\n", 0,
                        HANDSHAKE_BAD_TOKEN },
};

static void test_lines(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                size_t n = rows[i].n ?: strlen(rows[i].line);
                HandshakeVerdict v;
                Handshake h;

                v = check(rows[i].line, n, &h);
                if (v != rows[i].expected)
                        fail_msg("row %zu: %s", i, handshake_verdict_to_string(v));
        }
}

/* A line that comes in pieces is judged when, and only when, its newline is there. */
static void test_pieces(void **state) {
        const char line[] = TOKEN " ssh-0\nrest of it";
        const size_t length = strcspn(line, "\n") + 1;
        Handshake h = {};

        for (size_t n = 0; n < sizeof(line); n++)
                assert_int_equal(check(line, n, &h), n < length ? HANDSHAKE_MORE : HANDSHAKE_ACCEPTED);

        assert_int_equal(h.consumed, length);
        assert_int_equal(h.service.kind, SERVICE_SSH);
        assert_int_equal(h.service.index, 0);
        assert_memory_equal(h.name, "ssh-0", h.name_length);
}

static void test_length_limit(void **state) {
        static char buf[WIRE_LINE_MAX + 16];
        Handshake h;

        memset(buf, 'x', sizeof(buf));
        assert_int_equal(check(buf, WIRE_LINE_MAX - 1, &h), HANDSHAKE_MORE);
        assert_int_equal(check(buf, WIRE_LINE_MAX, &h), HANDSHAKE_TOO_LONG);
        assert_int_equal(check(buf, sizeof(buf), &h), HANDSHAKE_TOO_LONG);

        /* The newline is the last byte that may belong to a line. */
        buf[WIRE_LINE_MAX - 1] = '\n';
        assert_int_equal(check(buf, WIRE_LINE_MAX, &h), HANDSHAKE_MALFORMED);
        memcpy(buf, TOKEN " ", STRLEN(TOKEN " "));
        assert_int_equal(check(buf, WIRE_LINE_MAX, &h), HANDSHAKE_UNKNOWN_SERVICE);
        assert_int_equal(h.name_length, WIRE_LINE_MAX - STRLEN(TOKEN " ") - 1);

        buf[WIRE_LINE_MAX - 1] = 'x';
        buf[WIRE_LINE_MAX] = '\n';
        assert_int_equal(check(buf, sizeof(buf), &h), HANDSHAKE_TOO_LONG);
}

/* Every single wrong character is found. */
static void test_each_byte_of_the_token_counts(void **state) {
        char line[] = TOKEN " gpg\n";
        Handshake h;

        for (size_t i = 0; i < WIRE_TOKEN_LENGTH; i++)
                for (int bit = 0; bit < 8; bit++) {
                        HandshakeVerdict v;

                        line[i] = (char) (line[i] ^ 1 << bit);
                        v = check(line, strlen(line), &h);
                        assert_int_not_equal(v, HANDSHAKE_ACCEPTED);
                        line[i] = (char) (line[i] ^ 1 << bit);
                }

        assert_int_equal(check(line, strlen(line), &h), HANDSHAKE_ACCEPTED);
}

static void test_nothing_enabled(void **state) {
        Handshake h;

        assert_int_equal(handshake_check(TOKEN, NULL, 0, TOKEN " gpg\n", STRLEN(TOKEN " gpg\n"), &h),
                        HANDSHAKE_NOT_ENABLED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_pieces),
                cmocka_unit_test(test_length_limit),
                cmocka_unit_test(test_each_byte_of_the_token_counts),
                cmocka_unit_test(test_nothing_enabled),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
