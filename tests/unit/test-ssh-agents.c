/* SPDX-License-Identifier: MIT */

/* Asking ssh-agents for their keys: stand-ins that answer, answer oddly, or do not answer. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent-stand-in.h"
#include "basic/clock.h"
#include "launch/ssh-agents.h"

#define PROBE_USEC (500 * USEC_PER_MSEC)
#define LATE_USEC (10 * USEC_PER_SEC) /* a slow machine; not the probe's bound */

static AgentState probe_one(const char *path, uint64_t *ret_usec) {
        uint64_t start = now_usec();
        AgentState state = 77;
        char *p = (char *) path;

        ssh_agents_probe(&p, &state, 1, NULL, PROBE_USEC);
        *ret_usec = now_usec() - start;
        return state;
}

static void test_answers(void **state) {
        static const char many[] = "\0\1\0\0\x0c\1\0\0\0", http[] = "HTTP/1.1 400 Bad Request\r\n\r\n",
                other_type[] = "\0\0\0\5\x0d\0\0\0\1";
        static const struct {
                const char *answer;
                size_t n;
                AgentState state;
        } rows[] = {
                { agent_keys, sizeof(agent_keys) - 1, AGENT_KEYS },
                { agent_keys, 9, AGENT_KEYS }, /* the keys themselves are not waited for */
                { agent_empty, sizeof(agent_empty) - 1, AGENT_EMPTY },
                { many, sizeof(many) - 1, AGENT_KEYS },
                { http, sizeof(http) - 1, AGENT_DEAD },
                { other_type, sizeof(other_type) - 1, AGENT_DEAD },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (Behaviour b = ANSWERS; b <= ANSWERS_IN_PIECES; b++) {
                        StandIn s = { .fd = -EBADF };
                        uint64_t usec;

                        stand_in_start(&s, "agent", b, rows[i].answer, rows[i].n);
                        assert_int_equal(probe_one(s.path, &usec), rows[i].state);
                        stand_in_stop(&s);
                }
}

static void test_no_answer(void **state) {
        static const char failure[] = "\0\0\0\1\5";
        static const struct {
                Behaviour behaviour;
                bool waits; /* until time is up */
        } rows[] = {
                { SILENT, true },
                { HALF_THEN_SILENT, true },
                { HALF_THEN_CLOSES, false },
                { CLOSES, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                StandIn s = { .fd = -EBADF };
                uint64_t usec;

                stand_in_start(&s, "agent", rows[i].behaviour, agent_keys, sizeof(agent_keys) - 1);
                assert_int_equal(probe_one(s.path, &usec), AGENT_DEAD);
                if (rows[i].waits)
                        assert_in_range(usec, PROBE_USEC, LATE_USEC);
                stand_in_stop(&s);
        }

        /* "No" is an answer, but shorter than the one that was asked for: over when its sender closes, or when time is up. */
        for (Behaviour b = ANSWERS; b <= ANSWERS_IN_PIECES; b++) {
                StandIn s = { .fd = -EBADF };
                uint64_t usec;

                stand_in_start(&s, "agent", b, failure, sizeof(failure) - 1);
                assert_int_equal(probe_one(s.path, &usec), AGENT_DEAD);
                assert_in_range(usec, 0, LATE_USEC);
                stand_in_stop(&s);
        }
}

/* Nobody calls accept(), with room in the queue and without. */
static void test_not_accepting(void **state) {
        StandIn s = { .fd = -EBADF };
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        int fds[4];
        uint64_t usec;

        stand_in_listen(&s, "agent", 0);
        assert_int_equal(probe_one(s.path, &usec), AGENT_DEAD);
        assert_in_range(usec, PROBE_USEC, LATE_USEC);

        (void) strcpy(sa.sun_path, s.path);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                (void) connect(fds[i], (struct sockaddr *) &sa, sizeof(sa));
        }
        assert_int_equal(probe_one(s.path, &usec), AGENT_DEAD);
        assert_in_range(usec, 0, LATE_USEC);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fd_close(fds[i]);
        stand_in_stop(&s);
}

static void test_no_socket(void **state) {
        char long_path[200];
        StandIn dead = { .fd = -EBADF };
        _cleanup_close_ int datagram = -EBADF;
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        uint64_t usec;

        memset(long_path, 'x', sizeof(long_path) - 1);
        long_path[0] = '/';
        long_path[sizeof(long_path) - 1] = '\0';
        assert_int_equal(probe_one(long_path, &usec), AGENT_DEAD);
        assert_int_equal(probe_one(in_scratch("nothing"), &usec), AGENT_DEAD);
        assert_int_equal(probe_one(scratch, &usec), AGENT_DEAD);
        scratch_puts("file", "x");
        assert_int_equal(probe_one(in_scratch("file"), &usec), AGENT_DEAD);

        /* Its listener is gone. */
        stand_in_listen(&dead, "dead", 8);
        dead.fd = fd_close(dead.fd);
        assert_int_equal(probe_one(dead.path, &usec), AGENT_DEAD);

        (void) snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", in_scratch("datagram"));
        datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(datagram, (struct sockaddr *) &sa, sizeof(sa)), 0);
        assert_int_equal(probe_one(sa.sun_path, &usec), AGENT_DEAD);
}

/* All at once: the silent ones cost their time once, and hide nobody. */
static void test_together(void **state) {
        static const struct {
                const char *name;
                Behaviour behaviour;
                AgentState state;
        } rows[] = {
                { "t0", SILENT, AGENT_DEAD },
                { "t1", ANSWERS, AGENT_KEYS },
                { "t2", CLOSES, AGENT_DEAD },
                { "t3", SILENT, AGENT_DEAD },
                { "t4", ANSWERS_IN_PIECES, AGENT_KEYS },
                { "t5", HALF_THEN_SILENT, AGENT_DEAD },
        };
        StandIn s[ELEMENTSOF(rows)];
        char *paths[ELEMENTSOF(rows)];
        AgentState states[ELEMENTSOF(rows)];
        uint64_t start;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                s[i] = (StandIn) { .fd = -EBADF };
                stand_in_start(&s[i], rows[i].name, rows[i].behaviour, agent_keys, sizeof(agent_keys) - 1);
                paths[i] = s[i].path;
        }

        start = now_usec();
        ssh_agents_probe(paths, states, ELEMENTSOF(rows), NULL, 4 * PROBE_USEC);
        assert_in_range(now_usec() - start, 4 * PROBE_USEC, 3 * 4 * PROBE_USEC);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(states[i], rows[i].state);
                stand_in_stop(&s[i]);
        }
}

/* With a selection an agent is worth what it has of that, and its answer is waited for to its end. */
static void test_selection(void **state) {
        static const char answer[] = "\0\0\0\x1d\x0c\0\0\0\2" "\0\0\0\2k1\0\0\0\4work" "\0\0\0\2k2\0\0\0\0",
                failure[] = "\0\0\0\1\5";
        static const struct {
                const char *selector;
                const char *answer;
                size_t n;
                Behaviour behaviour;
                AgentState state;
        } rows[] = {
                { "work", answer, sizeof(answer) - 1, ANSWERS, AGENT_KEYS },
                { "work", answer, sizeof(answer) - 1, ANSWERS_IN_PIECES, AGENT_KEYS },
                { "w*", answer, sizeof(answer) - 1, ANSWERS, AGENT_KEYS },
                { "SHA256:AV9+a8Wur0g3JAieklLME7UJUaa2lBJSJ2XP9NeAMG4", answer, sizeof(answer) - 1, ANSWERS, AGENT_KEYS },
                { "home", answer, sizeof(answer) - 1, ANSWERS, AGENT_EMPTY },
                { "home", answer, sizeof(answer) - 1, ANSWERS_IN_PIECES, AGENT_EMPTY },
                { "*", agent_empty, sizeof(agent_empty) - 1, ANSWERS, AGENT_EMPTY },
                { "*", failure, sizeof(failure) - 1, ANSWERS, AGENT_DEAD },
                { "*", answer, sizeof(answer) - 1, HALF_THEN_CLOSES, AGENT_DEAD },
                { "*", agent_keys, sizeof(agent_keys) - 1, CLOSES, AGENT_DEAD },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char *selectors[] = { (char *) rows[i].selector, NULL }, *path;
                StandIn s = { .fd = -EBADF };
                AgentState found = 77;

                stand_in_start(&s, "agent", rows[i].behaviour, rows[i].answer, rows[i].n);
                path = s.path;
                ssh_agents_probe(&path, &found, 1, selectors, LATE_USEC);
                if (found != rows[i].state)
                        fail_msg("row %zu: %d", i, found);
                stand_in_stop(&s);
        }
}

static void test_too_many(void **state) {
        char *paths[SSH_AGENTS_PROBE_MAX + 2];
        AgentState states[SSH_AGENTS_PROBE_MAX + 2];

        for (size_t i = 0; i < ELEMENTSOF(paths); i++) {
                paths[i] = (char *) "/nonexistent";
                states[i] = AGENT_KEYS;
        }
        ssh_agents_probe(paths, states, ELEMENTSOF(paths), NULL, PROBE_USEC);
        for (size_t i = 0; i < ELEMENTSOF(paths); i++)
                assert_int_equal(states[i], AGENT_DEAD);

        ssh_agents_probe(NULL, NULL, 0, NULL, PROBE_USEC);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_no_answer),
                cmocka_unit_test(test_not_accepting),
                cmocka_unit_test(test_no_socket),
                cmocka_unit_test(test_together),
                cmocka_unit_test(test_selection),
                cmocka_unit_test(test_too_many),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
