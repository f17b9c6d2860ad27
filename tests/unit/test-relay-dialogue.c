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
        int a, relay_a, b, relay_b, n;
        RelayShared *shared = relay_shared_new();
        Relay r;

        message_pair(&a, &relay_a);
        message_pair(&b, &relay_b);
        assert_non_null(shared);
        relay_init(&r, shared, watch_nothing, RELAY_SOCKET(relay_a), RELAY_SOCKET(relay_b));
        assert_int_equal(relay_start(&r), 0);

        say(a, 1);
        say(b, 1);
        assert_int_equal(relay_dispatch(&r, relay_a, EPOLLIN), 0);
        assert_int_equal(heard(a), 1);
        assert_int_equal(heard(b), 1);

        /* Nobody has answered: that is found out, and no harm. */
        say(a, 1);
        assert_int_equal(relay_dispatch(&r, relay_a, EPOLLIN), 0);
        assert_int_equal(heard(b), 1);
        assert_int_equal(heard(a), 0);

        say(a, 50);
        say(b, 50);
        assert_int_equal(relay_dispatch(&r, relay_a, EPOLLIN), 0);
        n = heard(a) + heard(b);
        assert_true(n >= 4 && n <= 10);

        relay_done(&r);
        shared = relay_shared_free(shared);
        (void) fd_close(a);
        (void) fd_close(b);
}

/* The other's end is found the same way, and passed on. */
static void test_end(void **state) {
        int a, relay_a, b, relay_b;
        RelayShared *shared = relay_shared_new();
        Relay r;

        message_pair(&a, &relay_a);
        message_pair(&b, &relay_b);
        assert_non_null(shared);
        relay_init(&r, shared, watch_nothing, RELAY_SOCKET(relay_a), RELAY_SOCKET(relay_b));
        assert_int_equal(relay_start(&r), 0);

        say(a, 1);
        say(b, 1);
        assert_int_equal(shutdown(b, SHUT_WR), 0);
        assert_int_equal(relay_dispatch(&r, relay_a, EPOLLIN), 0);
        assert_int_equal(heard(a), 1);
        assert_int_equal(relay_dispatch(&r, relay_b, EPOLLIN | EPOLLRDHUP), 0);
        assert_int_equal(r.flows[RELAY_B].state, RELAY_STATE_DONE);
        assert_int_equal(r.flows[RELAY_A].state, RELAY_STATE_OPEN);
        assert_int_equal(heard(b), 1);

        relay_done(&r);
        shared = relay_shared_free(shared);
        (void) fd_close(a);
        (void) fd_close(b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_dialogue),
                cmocka_unit_test(test_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
