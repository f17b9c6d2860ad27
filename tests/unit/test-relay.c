/* SPDX-License-Identifier: MIT */

/* The relay between real descriptors, hooked into a small epoll loop: whatever is waited for has a bound. */

#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/relay.h"
#include "socket-pairs.h"

#define WAIT_MSEC 10000

/* The loop under test: a relay, its epoll descriptor, and the test's own ends of the two connections. */
typedef struct Rig {
        Relay relay;
        RelayShared *shared;
        int epoll_fd;
        int a; /* what the test talks through */
        int b;
        unsigned wakeups;
        bool finished;
} Rig;

static int rig_watch(Relay *r, int fd, uint32_t events) {
        Rig *rig = (Rig *) ((char *) r - offsetof(Rig, relay));
        struct epoll_event e = { .events = events, .data.fd = fd };

        if (events == 0)
                return epoll_ctl(rig->epoll_fd, EPOLL_CTL_DEL, fd, NULL) < 0 ? -errno : 0;
        if (epoll_ctl(rig->epoll_fd, EPOLL_CTL_MOD, fd, &e) >= 0)
                return 0;

        return epoll_ctl(rig->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static void rig_init(Rig *rig, int a, RelayEnd relay_a, int b, RelayEnd relay_b) {
        *rig = (Rig) {
                .shared = relay_shared_new(), .epoll_fd = epoll_create1(EPOLL_CLOEXEC), .a = a, .b = b
        };
        assert_non_null(rig->shared);
        assert_true(rig->epoll_fd >= 0);
        relay_init(&rig->relay, rig->shared, rig_watch, relay_a, relay_b);
}

static void rig_done(Rig *rig) {
        relay_done(&rig->relay);
        relay_done(&rig->relay);
        rig->shared = relay_shared_free(rig->shared);
        fd_close(rig->epoll_fd);
        fd_close(rig->a);
        fd_close(rig->b);
}

/* One turn of the loop; false when nothing came within the time. */
static bool rig_turn(Rig *rig, int timeout) {
        struct epoll_event e;
        int n;

        n = epoll_wait(rig->epoll_fd, &e, 1, timeout);
        assert_true(n >= 0);
        if (n == 0)
                return false;

        rig->wakeups++;
        n = relay_dispatch(&rig->relay, e.data.fd, e.events);
        assert_true(n >= 0);
        if (n == RELAY_E_FINISHED)
                rig->finished = true;

        return true;
}

/* Until the loop has something to do, or one of the test's own ends has: what the relay has sent may arrive later, and wakes only them. */
static void rig_await(Rig *rig, int reader, int writer) {
        struct pollfd fds[] = {
                { .fd = rig->epoll_fd, .events = POLLIN },
                { .fd = reader, .events = POLLIN },
                { .fd = writer, .events = POLLOUT },
        };

        assert_true(poll(fds, ELEMENTSOF(fds), WAIT_MSEC) > 0);
        (void) rig_turn(rig, 0);
}

static void rig_settle(Rig *rig) {
        for (unsigned i = 0; rig_turn(rig, 0); i++)
                assert_true(i < 10000); /* more would be a busy loop */
}

static void rig_finish(Rig *rig) {
        while (!rig->finished)
                assert_true(rig_turn(rig, WAIT_MSEC));
}

static void send_text(int fd, const char *s) {
        assert_int_equal(write(fd, s, strlen(s)), strlen(s));
}

static void expect_text(Rig *rig, int fd, const char *s) {
        char buf[256];
        size_t n = 0;

        while (n < strlen(s)) {
                ssize_t k;

                k = read(fd, buf + n, sizeof(buf) - n);
                if (k < 0) {
                        assert_int_equal(errno, EAGAIN);
                        rig_await(rig, fd, -1);
                        continue;
                }
                assert_true(k > 0);
                n += (size_t) k;
        }

        assert_int_equal(n, strlen(s));
        assert_memory_equal(buf, s, n);
}

static void expect_end(Rig *rig, int fd) {
        char c;
        ssize_t k;

        while ((k = read(fd, &c, 1)) < 0) {
                assert_int_equal(errno, EAGAIN);
                rig_await(rig, fd, -1);
        }
        assert_int_equal(k, 0);
}

/* A TCP connection on the one side, a Unix one on the other, as in the bridge. */
static void rig_init_usual(Rig *rig) {
        int a, relay_a, b, relay_b;

        tcp_pair(&a, &relay_a);
        unix_pair(&b, &relay_b);
        rig_init(rig, a, RELAY_SOCKET(relay_a), b, RELAY_SOCKET(relay_b));
        assert_int_equal(relay_start(&rig->relay), 0);
}

static void test_both_ways(void **state) {
        Rig rig;

        rig_init_usual(&rig);

        for (int i = 0; i < 3; i++) {
                send_text(rig.a, "question");
                expect_text(&rig, rig.b, "question");
                send_text(rig.b, "answer");
                expect_text(&rig, rig.a, "answer");
        }
        rig_settle(&rig);

        /* One turn for each message, no pipe, nothing kept. */
        assert_int_equal(rig.wakeups, 6);
        assert_true(rig.relay.flows[RELAY_A].pipe.in < 0);
        assert_null(rig.relay.flows[RELAY_A].left);
        assert_int_equal(rig.relay.flows[RELAY_A].bytes, 24);
        assert_int_equal(rig.relay.flows[RELAY_B].bytes, 18);

        rig_done(&rig);
}

static void test_half_close(void **state) {
        for (int side = 0; side < 2; side++) {
                int first, second;
                Rig rig;

                rig_init_usual(&rig);
                first = side == 0 ? rig.a : rig.b;
                second = side == 0 ? rig.b : rig.a;

                send_text(first, "last words");
                assert_int_equal(shutdown(first, SHUT_WR), 0);
                expect_text(&rig, second, "last words");
                expect_end(&rig, second);

                send_text(second, "still here");
                expect_text(&rig, first, "still here");
                rig_settle(&rig);
                assert_false(rig.finished);

                assert_int_equal(shutdown(second, SHUT_WR), 0);
                expect_end(&rig, first);
                rig_finish(&rig);
                assert_string_equal(relay_state_to_string(rig.relay.flows[side].state), "done");
                rig_done(&rig);
        }
}

static void test_pushed_bytes_come_first(void **state) {
        Rig rig;

        rig_init_usual(&rig);
        send_text(rig.a, "second");
        assert_int_equal(relay_push(&rig.relay, RELAY_A, "first ", 6), 0);
        expect_text(&rig, rig.b, "first second");
        assert_int_equal(rig.relay.flows[RELAY_A].bytes, 12);
        rig_done(&rig);
}

/* Bytes that depend on their place, so that loss, doubling and reordering show. */
static void fill(char *buf, size_t n, uint64_t position) {
        for (size_t i = 0; i < n; i++, position++)
                buf[i] = (char) (position * 2654435761U >> 24);
}

static void pump(Rig *rig, int from, int to, uint64_t total) {
        static char out[256 * 1024], in[256 * 1024], expected[256 * 1024];
        uint64_t sent = 0, received = 0;

        while (received < total) {
                bool moved = false;
                ssize_t k;

                if (sent < total) {
                        size_t n = MIN(sizeof(out), total - sent);

                        fill(out, n, sent);
                        k = write(from, out, n);
                        if (k > 0) {
                                sent += (uint64_t) k;
                                moved = true;
                        } else
                                assert_int_equal(errno, EAGAIN);
                }

                k = read(to, in, sizeof(in));
                if (k > 0) {
                        fill(expected, (size_t) k, received);
                        assert_memory_equal(in, expected, (size_t) k);
                        received += (uint64_t) k;
                        moved = true;
                }

                if (moved)
                        (void) rig_turn(rig, 0);
                else
                        rig_await(rig, to, sent < total ? from : -1);
        }
}

static void test_bulk(void **state) {
        for (int side = 0; side < 2; side++) {
                const uint64_t total = 32 * MIB + 7;
                Rig rig;

                rig_init_usual(&rig);
                pump(&rig, side == 0 ? rig.a : rig.b, side == 0 ? rig.b : rig.a, total);
                assert_int_equal(rig.relay.flows[side].bytes, total);

                /* The pipe is given back when it is empty. */
                rig_settle(&rig);
                assert_true(rig.relay.flows[side].pipe.in < 0);
                /* And nothing is held back for more to come. */
                assert_false(rig.relay.flows[side].gathering);
                rig_done(&rig);
        }
}

static void test_bulk_without_descriptors(void **state) {
        struct rlimit saved, none = { .rlim_cur = 0 };
        Rig rig;

        rig_init_usual(&rig);
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
        none.rlim_max = saved.rlim_max;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);

        pump(&rig, rig.a, rig.b, 4 * MIB + 1);

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
        rig_done(&rig);
}

static void test_reader_that_never_reads(void **state) {
        static char block[64 * 1024];
        Rig rig;

        rig_init_usual(&rig);
        for (;;) {
                ssize_t k;

                k = write(rig.a, block, sizeof(block));
                rig_settle(&rig);
                if (k < 0)
                        break;
        }

        /* All that we hold is what one read may take; and nothing happens any more, also after an end behind
         * it. */
        assert_true(rig.relay.flows[RELAY_A].pipe.n <= PIPE_POOL_SIZE);
        assert_int_equal(shutdown(rig.a, SHUT_WR), 0);
        rig_settle(&rig);
        rig.wakeups = 0;
        assert_false(rig_turn(&rig, 0));

        /* The other direction is alive. */
        send_text(rig.b, "hello");
        rig_settle(&rig);
        expect_text(&rig, rig.a, "hello");

        rig_done(&rig);
}

static void test_broken_reader_wakes_nobody(void **state) {
        Rig rig;

        /* The backend takes no more but goes on sending: it is not asked again. */
        rig_init_usual(&rig);
        assert_int_equal(shutdown(rig.b, SHUT_RD), 0);
        send_text(rig.a, "into the void");
        while (rig.relay.flows[RELAY_A].error == 0)
                assert_true(rig_turn(&rig, WAIT_MSEC));
        assert_string_equal(relay_state_to_string(rig.relay.flows[RELAY_A].state), "broken");
        assert_int_equal(rig.relay.flows[RELAY_A].error, -EPIPE);

        send_text(rig.a, "more of it");
        rig_settle(&rig);
        send_text(rig.b, "news");
        expect_text(&rig, rig.a, "news");

        fd_close(rig.b);
        rig.b = -EBADF;
        rig_finish(&rig);
        rig_done(&rig);
}

static void test_backend_that_dies(void **state) {
        Rig rig;

        rig_init_usual(&rig);
        send_text(rig.b, "last reply");
        fd_close(rig.b);
        rig.b = -EBADF;

        /* What the client sent meanwhile must not cost it the reply. */
        send_text(rig.a, "too late");
        rig_finish(&rig);
        relay_done(&rig.relay);
        expect_text(&rig, rig.a, "last reply");
        rig_done(&rig);
}

static void test_client_that_resets(void **state) {
        struct linger linger = { .l_onoff = 1 };
        Rig rig;

        rig_init_usual(&rig);
        send_text(rig.a, "order");
        expect_text(&rig, rig.b, "order");
        assert_int_equal(setsockopt(rig.a, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
        fd_close(rig.a);
        rig.a = -EBADF;

        rig_finish(&rig);
        relay_done(&rig.relay);
        expect_end(&rig, rig.b);
        rig_done(&rig);
}

static void test_client_that_vanishes_while_its_flow_stands(void **state) {
        static char block[64 * 1024];
        int a, relay_a, b, relay_b;
        Rig rig;

        /* Both Unix: the client's flow is stuck behind a backend that does not read, the client has gone. */
        unix_pair(&a, &relay_a);
        unix_pair(&b, &relay_b);
        rig_init(&rig, a, RELAY_SOCKET(relay_a), b, RELAY_SOCKET(relay_b));
        assert_int_equal(relay_start(&rig.relay), 0);

        while (write(rig.a, block, sizeof(block)) > 0)
                rig_settle(&rig);
        fd_close(rig.a);
        rig.a = -EBADF;

        rig_settle(&rig);
        assert_string_equal(relay_state_to_string(rig.relay.flows[RELAY_B].state), "broken");
        assert_false(rig_turn(&rig, 0));

        fd_close(rig.b);
        rig.b = -EBADF;
        rig_finish(&rig);
        rig_done(&rig);
}

/* As `bridge-connect` does it: standard input and output on the one side. */
static void test_pipes(void **state) {
        int in_read, in_write, out_read, out_write, b, relay_b;
        Rig rig;

        pipe_pair(&in_read, &in_write);
        pipe_pair(&out_read, &out_write);
        unix_pair(&b, &relay_b);
        rig_init(&rig, -EBADF, RELAY_PAIR(in_read, out_write), b, RELAY_SOCKET(relay_b));
        assert_int_equal(relay_start(&rig.relay), 0);

        send_text(in_write, "typed");
        expect_text(&rig, rig.b, "typed");
        send_text(rig.b, "printed");
        expect_text(&rig, out_read, "printed");

        fd_close(in_write);
        expect_end(&rig, rig.b);
        assert_int_equal(shutdown(rig.b, SHUT_WR), 0);
        expect_end(&rig, out_read);
        rig_finish(&rig);

        fd_close(out_read);
        rig_done(&rig);
}

static void test_pipe_without_reader(void **state) {
        int in_read, in_write, out_read, out_write, b, relay_b;
        Rig rig;

        pipe_pair(&in_read, &in_write);
        pipe_pair(&out_read, &out_write);
        unix_pair(&b, &relay_b);
        rig_init(&rig, -EBADF, RELAY_PAIR(in_read, out_write), b, RELAY_SOCKET(relay_b));
        assert_int_equal(relay_start(&rig.relay), 0);

        /* Seen at once, without anything to write. */
        fd_close(out_read);
        assert_true(rig_turn(&rig, WAIT_MSEC));
        rig_settle(&rig);
        assert_string_equal(relay_state_to_string(rig.relay.flows[RELAY_B].state), "broken");

        fd_close(in_write);
        rig_finish(&rig);
        rig_done(&rig);
}

static void test_still_connecting(void **state) {
        struct sockaddr_in address;
        int listening, connecting, accepted, a, relay_a;
        Rig rig;

        listening = tcp_listen(&address);
        connecting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void) connect(connecting, (struct sockaddr *) &address, sizeof(address));
        unix_pair(&a, &relay_a);
        rig_init(&rig, a, RELAY_SOCKET(relay_a), -EBADF, RELAY_SOCKET(connecting));
        assert_int_equal(relay_push(&rig.relay, RELAY_A, "token service\n", 14), 0);
        assert_int_equal(relay_start(&rig.relay), 0);

        accepted = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        assert_true(accepted >= 0);
        rig.b = accepted;
        expect_text(&rig, rig.b, "token service\n");
        rig_done(&rig);

        /* Refused: nobody listens there any more. */
        fd_close(listening);
        connecting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void) connect(connecting, (struct sockaddr *) &address, sizeof(address));
        unix_pair(&a, &relay_a);
        rig_init(&rig, a, RELAY_SOCKET(relay_a), -EBADF, RELAY_SOCKET(connecting));
        assert_int_equal(relay_push(&rig.relay, RELAY_A, "token service\n", 14), 0);
        rig.finished = relay_start(&rig.relay) == RELAY_E_FINISHED;
        rig_finish(&rig);
        rig_done(&rig);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_both_ways),
                cmocka_unit_test(test_half_close),
                cmocka_unit_test(test_pushed_bytes_come_first),
                cmocka_unit_test(test_bulk),
                cmocka_unit_test(test_bulk_without_descriptors),
                cmocka_unit_test(test_reader_that_never_reads),
                cmocka_unit_test(test_broken_reader_wakes_nobody),
                cmocka_unit_test(test_backend_that_dies),
                cmocka_unit_test(test_client_that_resets),
                cmocka_unit_test(test_client_that_vanishes_while_its_flow_stands),
                cmocka_unit_test(test_pipes),
                cmocka_unit_test(test_pipe_without_reader),
                cmocka_unit_test(test_still_connecting),
        };

        (void) signal(SIGPIPE, SIG_IGN);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
