/* SPDX-License-Identifier: MIT */

/* What passes between a guest and an agent, however it is cut and glued. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent-talk.h"

static const char *const three_keys[] = { "one", "two", "three", NULL };
static const size_t cuts[] = { 0, 1, 2, 3, 5, 7, 64, 4096 };

static Message expected;

static void assert_bytes(const Message *m, const Message *wanted) {
        assert_int_equal(m->n, wanted->n);
        assert_memory_equal(m->p, wanted->p, wanted->n);
}

#define REFUSED(name, s) { name, SSH_BYTES(s, STRLEN(s)) }

/* None of these reaches the agent; the connection goes on. */
static const struct {
        const char *name;
        SshBytes request;
} refused[] = {
        REFUSED("add identity", "\0\0\0\5\x11key!"),
        REFUSED("add identity, constrained", "\0\0\0\5\x19key!"),
        REFUSED("remove identity", "\0\0\0\5\x12key!"),
        REFUSED("remove all", "\0\0\0\1\x13"),
        REFUSED("add smartcard key", "\0\0\0\2\x14x"),
        REFUSED("remove smartcard key", "\0\0\0\2\x15x"),
        REFUSED("lock", "\0\0\0\5\x16\0\0\0\0"),
        REFUSED("unlock", "\0\0\0\5\x17\0\0\0\0"),
        REFUSED("add smartcard key, constrained", "\0\0\0\2\x1ax"),
        REFUSED("another extension", "\0\0\0\x0d\x1b\0\0\0\x08x@x.test"),
        REFUSED("an answer", "\0\0\0\5\x0c\0\0\0\0"),
        REFUSED("ssh 1: list", "\0\0\0\1\1"),
        REFUSED("ssh 1: remove all", "\0\0\0\1\x09"),
        REFUSED("a list with more to it", "\0\0\0\2\x0b\0"),
        REFUSED("a malformed request to sign", "\0\0\0\1\x0d"),
        REFUSED("type 0", "\0\0\0\1\0"),
        REFUSED("type 255", "\0\0\0\1\xff"),
};

static void test_refused(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                for (size_t c = 0; c < ELEMENTSOF(cuts); c++) {
                        Talk *t = talk_new();

                        t->cut = cuts[c];
                        t->comments = three_keys;
                        put(&t->guest, refused[i].request);
                        put(&t->guest, LIT(SSH_AGENT_FRAME_LIST));
                        talk(t);

                        expected.n = 0;
                        put(&expected, LIT(SSH_AGENT_FRAME_FAILURE));
                        put_list(&expected, three_keys);
                        assert_bytes(&t->to_guest, &expected);
                        expected.n = 0;
                        put(&expected, LIT(SSH_AGENT_FRAME_LIST));
                        assert_bytes(&t->to_agent, &expected);
                        assert_int_equal(t->filter.n_refused, 1);
                        assert_false(t->bad);
                        talk_free(t);
                }
}

/* Allowed and refused ones in one bundle: each answer in its place, those of the bridge's own too. */
static void test_order(void **state) {
        for (size_t c = 0; c < ELEMENTSOF(cuts); c++) {
                Talk *t = talk_new();

                t->cut = cuts[c];
                t->comments = three_keys;
                expected.n = 0;
                for (unsigned i = 0; i < 20; i++) {
                        put(&t->guest, LIT(SSH_AGENT_FRAME_LIST));
                        put_list(&expected, three_keys);
                        put_frame(&t->guest, 19, LIT(""));
                        put_frame(&t->guest, 17, LIT("a key"));
                        put(&expected, LIT(SSH_AGENT_FRAME_FAILURE SSH_AGENT_FRAME_FAILURE));
                        put_sign(&t->guest, LIT("k2"), LIT("data"));
                        put_frame(&expected, SSH_AGENT_SIGN_RESPONSE, LIT("\0\0\0\x09signature"));
                        put_extension(&t->guest, LIT("query"), LIT(""));
                        put(&expected, LIT(SSH_AGENT_FRAME_FAILURE)); /* the agent's own */
                }
                talk(t);

                assert_bytes(&t->to_guest, &expected);
                assert_int_equal(t->filter.n_refused, 40);
                assert_int_equal(t->filter.n_signed, 20);
                assert_int_equal(t->n_made, 20);
                assert_int_equal(t->guest.n + t->agent.n, 0);
                talk_free(t);
        }
}

/* What goes to the agent is byte for byte what the guest asked, and a list of the bridge's own before. */
static void test_sign(void **state) {
        static uint8_t data[SSH_AGENT_MESSAGE_MAX - 15];
        static const size_t sizes[] = { 0, 50, 20000, 200000, sizeof(data) };

        for (size_t i = 0; i < ELEMENTSOF(sizes); i++)
                for (size_t c = 0; c < ELEMENTSOF(cuts); c++) {
                        Talk *t;

                        if (sizes[i] > 50 && cuts[c] > 0 && cuts[c] < 64)
                                continue; /* takes long, shows nothing new */

                        t = talk_new();
                        t->cut = cuts[c];
                        t->comments = three_keys;
                        put_sign(&t->guest, LIT("k2"), SSH_BYTES(data, sizes[i]));
                        expected.n = 0;
                        put(&expected, LIT(SSH_AGENT_FRAME_LIST));
                        put_sign(&expected, LIT("k2"), SSH_BYTES(data, sizes[i]));
                        talk(t);

                        assert_bytes(&t->to_agent, &expected);
                        expected.n = 0;
                        put_frame(&expected, SSH_AGENT_SIGN_RESPONSE, LIT("\0\0\0\x09signature"));
                        assert_bytes(&t->to_guest, &expected);
                        assert_string_equal(t->made, "SHA256:AV9 other - two;");
                        talk_free(t);
                }
}

typedef struct Selection {
        const char *selectors; /* NULL: none */
        const char *const *comments;
        const char *listed; /* of the keys k1… */
        const char *signs;  /* of the keys k1 to k4 */
} Selection;

static const char *const odd_comments[] = { "", "SHA256:x", "with,comma", "work/x", NULL };
static const char *const no_keys[] = { NULL };

/* Of "k1". */
#define K1 "SHA256:arnx6499M4j0+dWG9m6Z/VQIDfLERvDlhmiwnAihbdA"

static const Selection selections[] = {
        /* What is not listed does not sign, whatever is selected: spelled otherwise it could be a key that is there. */
        { NULL, three_keys, "123", "123" },
        { NULL, no_keys, "", "" },
        { NULL, NULL, NULL, "" },
        { "two", three_keys, "2", "2" },
        { "t*", three_keys, "23", "23" },
        { "*", three_keys, "123", "123" },
        { "none", three_keys, "", "" },
        { "*", no_keys, "", "" },
        { "*", NULL, NULL, "" },
        { K1, three_keys, "1", "1" },
        { K1, no_keys, "", "" },
        { K1, NULL, NULL, "" },
        { K1 ",three", three_keys, "13", "13" },
        { "work/*", odd_comments, "4", "4" },
        { "*", odd_comments, "1234", "1234" },
};

static void check_list(const Selection *row, size_t cut, char **selectors) {
        Talk *t = talk_new();

        t->cut = cut;
        t->filter.selectors = selectors;
        t->comments = row->comments;
        put(&t->guest, LIT(SSH_AGENT_FRAME_LIST));
        talk(t);

        expected.n = 0;
        if (!row->listed)
                put(&expected, LIT(SSH_AGENT_FRAME_FAILURE));
        else {
                size_t start = frame_begin(&expected, SSH_AGENT_IDENTITIES_ANSWER);

                put_number(&expected, (uint32_t) strlen(row->listed));
                for (const char *p = row->listed; *p; p++) {
                        char key[] = { 'k', *p };
                        const char *comment = row->comments[*p - '1'];

                        put_string(&expected, SSH_BYTES(key, 2));
                        put_string(&expected, SSH_BYTES(comment, strlen(comment)));
                }
                frame_end(&expected, start);
        }
        assert_bytes(&t->to_guest, &expected);
        talk_free(t);
}

static void check_sign(const Selection *row, size_t cut, char **selectors) {
        for (char which = '1'; which <= '4'; which++) {
                bool signs = strchr(row->signs, which);
                Talk *t = talk_new();
                char key[] = { 'k', which };

                t->cut = cut;
                t->filter.selectors = selectors;
                t->comments = row->comments;
                put_sign(&t->guest, SSH_BYTES(key, 2), LIT("data"));
                talk(t);

                expected.n = 0;
                if (signs)
                        put_frame(&expected, SSH_AGENT_SIGN_RESPONSE, LIT("\0\0\0\x09signature"));
                else
                        put(&expected, LIT(SSH_AGENT_FRAME_FAILURE));
                assert_bytes(&t->to_guest, &expected);

                /* What may not sign never reaches the agent. */
                expected.n = 0;
                put(&expected, LIT(SSH_AGENT_FRAME_LIST));
                if (signs)
                        put_sign(&expected, SSH_BYTES(key, 2), LIT("data"));
                assert_bytes(&t->to_agent, &expected);
                assert_int_equal(t->n_made, signs);
                assert_int_equal(t->filter.n_signed, signs);
                assert_int_equal(t->filter.n_refused, !signs);
                assert_null(t->filter.signature);
                talk_free(t);
        }
}

static void test_selection(void **state) {
        char fingerprint[SSH_FINGERPRINT_SIZE];

        ssh_key_fingerprint(LIT("k1"), fingerprint);
        assert_string_equal(fingerprint, K1);

        for (size_t i = 0; i < ELEMENTSOF(selections); i++)
                for (size_t c = 0; c < ELEMENTSOF(cuts); c++) {
                        _cleanup_strv_ char **v = NULL;

                        if (selections[i].selectors)
                                assert_int_equal(strv_split(selections[i].selectors, ',', &v), 0);
                        check_list(&selections[i], cuts[c], v);
                        check_sign(&selections[i], cuts[c], v);
                }
}

/* An agent that refuses has made no signature. */
static void test_agent_refuses(void **state) {
        Talk *t = talk_new();

        t->comments = three_keys;
        t->refuses = true;
        put_sign(&t->guest, LIT("k1"), LIT("data"));
        talk(t);
        assert_true(ssh_bytes_equal(bytes_of(&t->to_guest), LIT(SSH_AGENT_FRAME_FAILURE)));
        assert_int_equal(t->n_made, 0);
        assert_null(t->filter.signature);
        assert_int_equal(t->filter.n_refused, 0);

        /* The next one is another. */
        t->refuses = false;
        put_sign(&t->guest, LIT("k3"), LIT("data"));
        talk(t);
        assert_string_equal(t->made + STRLEN("SHA256:xxx"), " other - three;");
        talk_free(t);
}

/* Comments and names are somebody else's text. */
static void test_texts(void **state) {
        static const char *const comments[] = { "a\x1b]0;title\a\nb", NULL };
        Talk *t = talk_new();

        t->comments = comments;
        put_sign(&t->guest, LIT("k1"), LIT("SSHSIG\0\0\0\4\ngit\0\0\0\0\0\0\0\0\0\0\0\0"));
        talk(t);
        assert_string_equal(t->made + STRLEN("SHA256:xxx"), " sshsig \\x0agit a\\x1b]0;title\\x07\\x0ab;");
        talk_free(t);
}

/* An agent that answers before it has the whole question: the rest of that would be its next one, and pass unseen. */
static void test_early_answer(void **state) {
        static uint8_t half[20000] = "\0\1\0\0\x1b\0\0\0\5query";
        uint8_t answer[] = SSH_AGENT_FRAME_FAILURE;
        AgentFilter f = {};
        AgentStep step;

        step = agent_filter_request(&f, SSH_BYTES(half, sizeof(half)));
        assert_int_equal(step.verdict, AGENT_PASS);
        step = agent_filter_answer(&f, answer, sizeof(answer) - 1);
        assert_int_equal(step.verdict, AGENT_BAD);
        agent_filter_done(&f);
}

/* What ends a connection, whatever comes before. */
static void test_bad_lengths(void **state) {
        static const SshBytes rows[] = { LIT("\0\0\0\0"), LIT("\0\0\0\0\x0b"), LIT("\0\4\0\1\x0b"),
                LIT("\xff\xff\xff\xff\x0d"), LIT("GET / HTTP/1.1\r\n\r\n") };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (size_t c = 0; c < ELEMENTSOF(cuts); c++) {
                        Talk *t = talk_new();

                        t->cut = cuts[c];
                        t->comments = no_keys;
                        put(&t->guest, LIT(SSH_AGENT_FRAME_LIST));
                        put(&t->guest, rows[i]);
                        put(&t->guest, LIT(SSH_AGENT_FRAME_LIST));
                        talk(t);
                        assert_true(t->bad);
                        assert_true(ssh_bytes_equal(bytes_of(&t->to_guest), LIT("\0\0\0\5\x0c\0\0\0\0")));
                        assert_true(ssh_bytes_equal(bytes_of(&t->to_agent), LIT(SSH_AGENT_FRAME_LIST)));
                        talk_free(t);
                }
}

/* The largest that may be: refused as others are, and nothing of it is kept. */
static void test_largest_refused(void **state) {
        static uint8_t body[SSH_AGENT_MESSAGE_MAX - 1];
        Talk *t = talk_new();

        t->cut = 4096;
        t->comments = no_keys;
        put_frame(&t->guest, 17, SSH_BYTES(body, sizeof(body)));
        put(&t->guest, LIT(SSH_AGENT_FRAME_LIST));
        talk(t);
        assert_true(ssh_bytes_equal(bytes_of(&t->to_guest), LIT(SSH_AGENT_FRAME_FAILURE "\0\0\0\5\x0c\0\0\0\0")));
        talk_free(t);
}

typedef struct Answer {
        SshBytes bytes;
        AgentTurn turn;
        bool bad;
        SshBytes to_guest;
} Answer;

#define FAILURE LIT(SSH_AGENT_FRAME_FAILURE)

static const Answer answers[] = {
        { LIT("\0\0\0\1\6"), AGENT_TURN_GUEST, true, LIT("") }, /* nobody has asked */
        { LIT("\0\0\0\0"), AGENT_TURN_ANSWER, true, LIT("") },
        { LIT("\0\4\0\1\x0c"), AGENT_TURN_ANSWER, true, LIT("") },
        { LIT("\0\4\0\1\x0c"), AGENT_TURN_LIST, true, LIT("") },
        { LIT("\0\0\0\1\6"), AGENT_TURN_ANSWER, false, LIT("\0\0\0\1\6") },
        { LIT("\0\0\0\1\6\0"), AGENT_TURN_ANSWER, true, LIT("\0\0\0\1\6") }, /* one byte too many */
        { LIT("\0\0\0\5\x0c\0\0\0\0"), AGENT_TURN_ANSWER, false, LIT("\0\0\0\5\x0c\0\0\0\0") },
        { LIT("\0\0\0\1\x0e"), AGENT_TURN_ANSWER, false, LIT("\0\0\0\1\x0e") },
        /* A list that is none, of which nothing could be selected, is a failure. */
        { LIT("\0\0\0\1\5"), AGENT_TURN_LIST, false, FAILURE },
        { LIT("\0\0\0\1\6"), AGENT_TURN_LIST, false, FAILURE },
        { LIT("\0\0\0\4\x0c\0\0\0"), AGENT_TURN_LIST, false, FAILURE },
        { LIT("\0\0\0\5\x0c\0\0\0\1"), AGENT_TURN_LIST, false, FAILURE },
        { LIT("\0\0\0\x0d\x0c\xff\xff\xff\xff\0\0\0\0\0\0\0\0"), AGENT_TURN_LIST, false, FAILURE },
        { LIT("\0\0\0\x0d\x0c\0\0\0\1\xff\xff\xff\xff\0\0\0\0"), AGENT_TURN_LIST, false, FAILURE },
        { LIT("\0\0\0\x0d\x0c\0\0\0\1\0\0\0\0\0\0\0\0"), AGENT_TURN_LIST, false,
                        LIT("\0\0\0\x0d\x0c\0\0\0\1\0\0\0\0\0\0\0\0") },
        { LIT("\0\0\0\x0e\x0c\0\0\0\1\0\0\0\0\0\0\0\0x"), AGENT_TURN_LIST, false, FAILURE },
};

static void test_answers(void **state) {
        static char *selectors[] = { (char *) "*", NULL };

        for (size_t i = 0; i < ELEMENTSOF(answers); i++)
                for (size_t c = 0; c < ELEMENTSOF(cuts); c++) {
                        Talk *t = talk_new();

                        t->cut = cuts[c];
                        t->filter.selectors = selectors;
                        t->filter.turn = answers[i].turn;
                        put(&t->agent, answers[i].bytes);
                        talk(t);
                        if (t->bad != answers[i].bad)
                                fail_msg("row %zu", i);
                        assert_true(ssh_bytes_equal(bytes_of(&t->to_guest), answers[i].to_guest));
                        if (!t->bad)
                                assert_int_equal(t->filter.turn, AGENT_TURN_GUEST);
                        talk_free(t);
                }
}

/* A list as large as one may be, of which every second key is selected. */
static void test_largest_list(void **state) {
        static char *selectors[] = { (char *) "even", NULL };
        Talk *t = talk_new();
        size_t start;

        t->cut = 4096;
        t->filter.selectors = selectors;
        t->filter.turn = AGENT_TURN_LIST;

        start = frame_begin(&t->agent, SSH_AGENT_IDENTITIES_ANSWER);
        put_number(&t->agent, 16000);
        expected.n = 0;
        (void) frame_begin(&expected, SSH_AGENT_IDENTITIES_ANSWER);
        put_number(&expected, 8000);
        for (uint32_t i = 0; i < 16000; i++) {
                put_string(&t->agent, SSH_BYTES(&i, sizeof(i)));
                put_string(&t->agent, i % 2 == 0 ? LIT("even") : LIT("odd!"));
                if (i % 2 == 0) {
                        put_string(&expected, SSH_BYTES(&i, sizeof(i)));
                        put_string(&expected, LIT("even"));
                }
        }
        frame_end(&t->agent, start);
        frame_end(&expected, 0);
        assert_true(t->agent.n <= SSH_AGENT_FRAME_MAX);

        talk(t);
        assert_bytes(&t->to_guest, &expected);
        talk_free(t);
}

/* Leave is asked for once, when the request is complete. Without it the agent never hears of that, and the connection goes on. */
static void test_no_leave(void **state) {
        Talk *t = talk_new();

        t->comments = three_keys;
        t->keeps_waiting = true;
        put_sign(&t->guest, LIT("k2"), LIT("data"));
        put(&t->guest, LIT(SSH_AGENT_FRAME_LIST));
        talk(t);
        assert_int_equal(t->filter.leave, AGENT_LEAVE_ASKED);
        assert_false(agent_filter_is_ready(&t->filter));
        assert_int_equal(agent_filter_request(&t->filter, bytes_of(&t->guest)).verdict, AGENT_WAIT);
        assert_int_equal(t->to_agent.n, STRLEN(SSH_AGENT_FRAME_LIST));

        assert_true(agent_filter_refuse(&t->filter));
        talk(t);

        expected.n = 0;
        put(&expected, LIT(SSH_AGENT_FRAME_FAILURE));
        put_list(&expected, three_keys);
        assert_bytes(&t->to_guest, &expected);
        assert_true(ssh_bytes_equal(bytes_of(&t->to_agent), LIT(SSH_AGENT_FRAME_LIST SSH_AGENT_FRAME_LIST)));
        assert_int_equal(t->filter.n_refused, 1);
        assert_null(t->filter.signature);
        talk_free(t);
}

/* One of which the agent has the beginning: no leave while its end is missing, none from the request before, and no going back. */
static void test_leave_for_the_last(void **state) {
        static uint8_t data[20000];
        Talk *t = talk_new();
        size_t n;

        t->comments = three_keys;
        t->refuses = true; /* leave that is not used up */
        put_sign(&t->guest, LIT("k1"), LIT("data"));
        talk(t);
        assert_int_equal(t->filter.leave, AGENT_LEAVE_NONE);

        t->keeps_waiting = true;
        put_sign(&t->guest, LIT("k2"), SSH_BYTES(data, sizeof(data)));
        t->guest.n--;
        t->to_agent.n = t->answered = 0;
        talk(t);
        n = t->to_agent.n;
        assert_true(n > sizeof(data));
        assert_int_equal(t->filter.leave, AGENT_LEAVE_NONE);

        put(&t->guest, LIT("\0"));
        talk(t);
        assert_int_equal(t->filter.leave, AGENT_LEAVE_ASKED);
        assert_int_equal(t->to_agent.n, n);
        assert_false(agent_filter_refuse(&t->filter));

        agent_filter_permit(&t->filter);
        talk(t);
        assert_int_equal(t->to_agent.n, n + 1);
        talk_free(t);
}

static void test_names(void **state) {
        assert_string_equal(agent_turn_to_string(AGENT_TURN_LOOKUP), "lookup");
        assert_string_equal(agent_turn_to_string(_AGENT_TURN_MAX), "?");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_order),
                cmocka_unit_test(test_sign),
                cmocka_unit_test(test_selection),
                cmocka_unit_test(test_agent_refuses),
                cmocka_unit_test(test_texts),
                cmocka_unit_test(test_early_answer),
                cmocka_unit_test(test_bad_lengths),
                cmocka_unit_test(test_largest_refused),
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_largest_list),
                cmocka_unit_test(test_no_leave),
                cmocka_unit_test(test_leave_for_the_last),
                cmocka_unit_test(test_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
