/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bridge/agent-request.h"
#include "ssh-messages.h"

static Message m;

static AgentRequestKind parse(AgentRequest *ret) {
        return agent_request_parse(bytes_of(&m), ret);
}

/* Every type there could be, with nothing, with what a real one has, and with anything behind it. */
static void test_every_type(void **state) {
        static const SshBytes bodies[] = { LIT(""), LIT("\0"), LIT("\0\0\0\0"), LIT("\0\0\0\1x\0\0\0\1y\0\0\0\0"),
                LIT("\0\0\0\5query"), LIT("\0\0\0\x18session-bind@openssh.com\1\2\3") };

        for (unsigned type = 0; type < 256; type++)
                for (size_t i = 0; i < ELEMENTSOF(bodies); i++) {
                        AgentRequestKind expected = AGENT_REQUEST_REFUSED, kind;
                        AgentRequest request;

                        if (type == 11 && i == 0)
                                expected = AGENT_REQUEST_LIST;
                        if (type == 13 && i == 3)
                                expected = AGENT_REQUEST_SIGN;
                        if (type == 27 && i >= 4)
                                expected = AGENT_REQUEST_EXTENSION;

                        m.n = 0;
                        put_frame(&m, (uint8_t) type, bodies[i]);
                        kind = parse(&request);
                        if (kind != expected)
                                fail_msg("type %u, body %zu: %s", type, i, agent_request_kind_to_string(kind));
                        assert_int_equal(request.size, m.n);
                }
}

static void test_extensions(void **state) {
        static const struct {
                SshBytes name;
                AgentRequestKind expected;
        } rows[] = {
                { LIT("query"), AGENT_REQUEST_EXTENSION },
                { LIT("session-bind@openssh.com"), AGENT_REQUEST_EXTENSION },
                { LIT("restrict-destination-v00@openssh.com"), AGENT_REQUEST_REFUSED },
                { LIT("ecdh@example.org"), AGENT_REQUEST_REFUSED },
                { LIT(""), AGENT_REQUEST_REFUSED },
                { LIT("quer"), AGENT_REQUEST_REFUSED },
                { LIT("query\0"), AGENT_REQUEST_REFUSED },
                { LIT("QUERY"), AGENT_REQUEST_REFUSED },
                { LIT("session-bind@openssh.com."), AGENT_REQUEST_REFUSED },
                { LIT("session-bind"), AGENT_REQUEST_REFUSED },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                AgentRequest request;

                m.n = 0;
                put_extension(&m, rows[i].name, LIT("anything"));
                assert_int_equal(parse(&request), rows[i].expected);
        }
}

static void test_lengths(void **state) {
        static const struct {
                SshBytes bytes;
                AgentRequestKind expected;
        } rows[] = {
                { LIT(""), AGENT_REQUEST_INCOMPLETE },
                { LIT("\0\0\0"), AGENT_REQUEST_INCOMPLETE },
                { LIT("\0\0\0\0"), AGENT_REQUEST_BAD_LENGTH },
                { LIT("\0\0\0\0\x0b"), AGENT_REQUEST_BAD_LENGTH },
                { LIT("\0\0\0\1"), AGENT_REQUEST_INCOMPLETE },
                { LIT("\0\0\0\1\x0b"), AGENT_REQUEST_LIST },
                { LIT("\0\0\0\1\x0bmore"), AGENT_REQUEST_LIST },
                { LIT("\0\0\0\1\x0d"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\2\x0d"), AGENT_REQUEST_INCOMPLETE },
                { LIT("\0\0\0\2\x0b"), AGENT_REQUEST_REFUSED },
                { LIT("\0\4\0\0"), AGENT_REQUEST_INCOMPLETE }, /* 256 KiB */
                { LIT("\0\4\0\0\x13"), AGENT_REQUEST_REFUSED },
                { LIT("\0\4\0\1"), AGENT_REQUEST_BAD_LENGTH },
                { LIT("\0\4\0\1\x0b"), AGENT_REQUEST_BAD_LENGTH },
                { LIT("\xff\xff\xff\xff\x0b"), AGENT_REQUEST_BAD_LENGTH },
                { LIT("GET / HTTP/1.1\r\n"), AGENT_REQUEST_BAD_LENGTH },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                AgentRequest request;

                assert_int_equal(agent_request_parse(rows[i].bytes, &request), rows[i].expected);
        }
}

/* Key, data and flags fill the message exactly: the agent can read nothing else in it. */
static void test_sign(void **state) {
        static const struct {
                SshBytes body;
                AgentRequestKind expected;
        } rows[] = {
                { LIT("\0\0\0\3key\0\0\0\4data\0\0\0\2"), AGENT_REQUEST_SIGN },
                { LIT("\0\0\0\0\0\0\0\0\0\0\0\0"), AGENT_REQUEST_SIGN },
                { LIT("\0\0\0\3key\0\0\0\4data\0\0\0"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\3key\0\0\0\4data"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\3key\0\0\0\4data\0\0\0\0\0"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\3key\0\0\0\5data\0\0\0\0"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\3key\0\0\0\3data\0\0\0\0"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\3key\xff\xff\xff\xff" "data\0\0\0\0"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\3key\xff\xff\xff\xfc" "data\0\0\0\0"), AGENT_REQUEST_REFUSED },
                { LIT("\xff\xff\xff\xffkey\0\0\0\4data\0\0\0\0"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\x20key\0\0\0\4data\0\0\0\0"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\3ke"), AGENT_REQUEST_REFUSED },
                { LIT("\0\0\0\3key\0\0\0"), AGENT_REQUEST_REFUSED },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                AgentRequestKind kind;
                AgentRequest request;

                m.n = 0;
                put_frame(&m, SSH_AGENTC_SIGN_REQUEST, rows[i].body);
                put(&m, LIT("\0\0\0\1\x0b")); /* the next one is none of its business */
                kind = parse(&request);
                if (kind != rows[i].expected)
                        fail_msg("row %zu: %s", i, agent_request_kind_to_string(kind));
                if (i == 0) {
                        assert_true(ssh_bytes_are(request.key, "key"));
                        assert_true(ssh_bytes_are(request.data, "data"));
                        assert_true(request.data_is_whole);
                }
        }
}

/* A request is judged when all of it is there, or its head; whatever that holds, no byte before it decides. */
static void test_pieces(void **state) {
        static uint8_t data[SSH_AGENT_MESSAGE_MAX];
        static const size_t sizes[] = { 0, 1, 100, AGENT_HEAD_MAX - 40, AGENT_HEAD_MAX, AGENT_HEAD_MAX + 1, 200000,
                SSH_AGENT_MESSAGE_MAX - 16 };

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                AgentRequest request;

                m.n = 0;
                put_sign(&m, LIT("key"), SSH_BYTES(data, sizes[i]));
                for (size_t n = 0; n <= MIN(m.n, AGENT_HEAD_MAX + 10); n++)
                        assert_int_equal(agent_request_parse(SSH_BYTES(m.p, n), &request),
                                        n < MIN(m.n, AGENT_HEAD_MAX) ? AGENT_REQUEST_INCOMPLETE
                                                                     : AGENT_REQUEST_SIGN);
                assert_int_equal(parse(&request), AGENT_REQUEST_SIGN);
                assert_int_equal(request.size, m.n);
                assert_int_equal(request.data_is_whole, m.n <= AGENT_HEAD_MAX);
                assert_int_equal(request.data.n, MIN(sizes[i], AGENT_HEAD_MAX - 4 - 1 - 4 - 3 - 4));
        }

        /* A length that only what is still to come could prove wrong is wrong already. */
        m.n = 0;
        put_sign(&m, LIT("key"), SSH_BYTES(data, 200000));
        m.p[15]++;
        for (size_t n = AGENT_HEAD_MAX; n < AGENT_HEAD_MAX + 10; n++) {
                AgentRequest request;

                assert_int_equal(agent_request_parse(SSH_BYTES(m.p, n), &request), AGENT_REQUEST_REFUSED);
        }
}

/* Keys that do not fit into the head cannot be told apart, and do not sign. */
static void test_huge_key(void **state) {
        static uint8_t key[2 * AGENT_HEAD_MAX];
        AgentRequest request;

        m.n = 0;
        put_sign(&m, SSH_BYTES(key, sizeof(key)), LIT("data"));
        assert_int_equal(agent_request_parse(SSH_BYTES(m.p, AGENT_HEAD_MAX), &request), AGENT_REQUEST_REFUSED);
        assert_int_equal(request.size, m.n);
        assert_int_equal(parse(&request), AGENT_REQUEST_REFUSED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_type),
                cmocka_unit_test(test_extensions),
                cmocka_unit_test(test_lengths),
                cmocka_unit_test(test_sign),
                cmocka_unit_test(test_pieces),
                cmocka_unit_test(test_huge_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
