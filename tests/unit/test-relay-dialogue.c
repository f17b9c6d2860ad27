/* SPDX-License-Identifier: MIT */

/* A relay whose both sides have something to say at once. Each message is a read of its own here, and the
 * test is the event loop. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "basic/fd.h"
#include "basic/relay.h"

static int watch_nothing(Relay *r, int fd, uint32_t events) {
        return 0;
}

static void message_pair(int *ret_ours, int *ret_relays) {
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        *ret_ours = fds[0];
        *ret_relays = fds[1];
}

/* A relay between two such pairs; `a` and `b` are the far ends. */
typedef struct Stage {
        Relay relay;
        RelayShared *shared;
        int a, relay_a;
        int b, relay_b;
} Stage;

static void stage_begin(Stage *s) {
        *s = (Stage) { .shared = relay_shared_new() };
        assert_non_null(s->shared);
        message_pair(&s->a, &s->relay_a);
        message_pair(&s->b, &s->relay_b);
        relay_init(&s->relay, s->shared, watch_nothing, RELAY_SOCKET(s->relay_a), RELAY_SOCKET(s->relay_b));
        assert_int_equal(relay_start(&s->relay), 0);
}

static void stage_end(Stage *s) {
        relay_done(&s->relay);
        s->shared = relay_shared_free(s->shared);
        (void) fd_close(s->a);
        (void) fd_close(s->b);
}

static void say(int fd, int times) {
        while (times-- > 0)
                assert_int_equal(send(fd, "!", 1, 0), 1);
}

static int heard(int fd) {
        char c;
        int n = 0;

        while (recv(fd, &c, 1, 0) == 1)
                n++;
        return n;
}

/* What one side has said already when the other's message is passed on is passed on in the same turn; two that
 * never stop do not keep the relay from others. */
static void test_dialogue(void **state) {
        Stage s;
        int n;

        stage_begin(&s);

        say(s.a, 1);
        say(s.b, 1);
        assert_int_equal(relay_dispatch(&s.relay, s.relay_a, EPOLLIN), 0);
        assert_int_equal(heard(s.a), 1);
        assert_int_equal(heard(s.b), 1);

        /* Nobody has answered: that is found out, and no harm. */
        say(s.a, 1);
        assert_int_equal(relay_dispatch(&s.relay, s.relay_a, EPOLLIN), 0);
        assert_int_equal(heard(s.b), 1);
        assert_int_equal(heard(s.a), 0);

        /* Bulk has turns of its own. */
        s.relay.flows[RELAY_B].bulk = true;
        say(s.a, 1);
        say(s.b, 1);
        assert_int_equal(relay_dispatch(&s.relay, s.relay_a, EPOLLIN), 0);
        assert_int_equal(heard(s.b), 1);
        assert_int_equal(heard(s.a), 0);
        s.relay.flows[RELAY_B].bulk = false;

        say(s.a, 50);
        say(s.b, 50);
        assert_int_equal(relay_dispatch(&s.relay, s.relay_a, EPOLLIN), 0);
        n = heard(s.a) + heard(s.b);
        assert_true(n >= 4 && n <= 10);

        stage_end(&s);
}

/* The other's end is found the same way, and passed on. */
static void test_end(void **state) {
        Stage s;

        stage_begin(&s);

        say(s.a, 1);
        say(s.b, 1);
        assert_int_equal(shutdown(s.b, SHUT_WR), 0);
        assert_int_equal(relay_dispatch(&s.relay, s.relay_a, EPOLLIN), 0);
        assert_int_equal(heard(s.a), 1);
        assert_int_equal(relay_dispatch(&s.relay, s.relay_b, EPOLLIN | EPOLLRDHUP), 0);
        assert_int_equal(s.relay.flows[RELAY_B].state, RELAY_STATE_DONE);
        assert_int_equal(s.relay.flows[RELAY_A].state, RELAY_STATE_OPEN);
        assert_int_equal(heard(s.b), 1);

        stage_end(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_dialogue),
                cmocka_unit_test(test_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
