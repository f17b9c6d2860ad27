/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "bridge/poll-set.h"
#include "socket-pairs.h"

#define MANY 200 /* more than a turn takes */

typedef struct Guest {
        PollEntry entry;
        PollSet *set;
        int peer;
        unsigned calls;
        uint32_t events;
        struct Guest *victim; /* no longer watched once this one is called */
        sd_event_source *timer; /* armed by being called */
} Guest;

typedef struct Stage {
        sd_event *event;
        PollSet *set;
        Guest guests[MANY];
} Stage;

static unsigned all_calls;

static bool on_ready(void *userdata, int fd, uint32_t revents) {
        Guest *g = userdata;

        assert_int_equal(fd, g->entry.fd);
        g->calls++;
        all_calls++;
        g->events = revents;
        if (g->victim)
                assert_int_equal(poll_set_watch(g->set, &g->victim->entry, 0), 0);
        if (g->timer)
                assert_true(sd_event_source_set_enabled(g->timer, SD_EVENT_ONESHOT) >= 0);

        return g->timer;
}

static int setup(void **state) {
        static Stage s;

        s = (Stage){ 0 };
        assert_int_equal(sd_event_new(&s.event), 0);
        assert_int_equal(poll_set_new(s.event, &s.set), 0);
        for (size_t i = 0; i < MANY; i++) {
                Guest *g = &s.guests[i];

                *g = (Guest){ .entry = { .handler = on_ready, .userdata = g }, .set = s.set };
                unix_pair(&g->entry.fd, &g->peer);
        }

        *state = &s;
        return 0;
}

static int teardown(void **state) {
        Stage *s = *state;

        for (size_t i = 0; i < MANY; i++) {
                assert_int_equal(poll_set_watch(s->set, &s->guests[i].entry, 0), 0);
                fd_close(s->guests[i].entry.fd);
                fd_close(s->guests[i].peer);
        }
        poll_set_free(s->set);
        sd_event_unref(s->event);
        return 0;
}

/* One turn of the loop; whether anybody was called. */
static bool turn(Stage *s) {
        unsigned before = all_calls;

        assert_int_equal(poll_set_turn(s->set, 0), 0);
        return all_calls > before;
}

static void say(Guest *g) {
        assert_int_equal(write(g->peer, "x", 1), 1);
}

static void watch(Guest *g, uint32_t events) {
        assert_int_equal(poll_set_watch(g->set, &g->entry, events), 0);
}

static void test_ready(void **state) {
        Stage *s = *state;
        Guest *g = &s->guests[0];

        watch(g, 0);
        watch(g, EPOLLIN);
        assert_false(turn(s));
        say(g);
        assert_true(turn(s));
        assert_int_equal(g->calls, 1);
        assert_int_equal(g->events, EPOLLIN);

        /* As long as nobody reads. */
        assert_true(turn(s));
        assert_int_equal(g->calls, 2);

        watch(g, EPOLLOUT);
        assert_true(turn(s));
        assert_int_equal(g->events, EPOLLOUT);

        /* Once for each change. */
        watch(g, EPOLLET);
        assert_false(turn(s));
        g->peer = fd_close(g->peer);
        assert_true(turn(s));
        assert_true(g->events & EPOLLHUP);
        assert_false(turn(s));

        watch(g, 0);
        assert_false(turn(s));
        assert_int_equal(g->calls, 4);
}

/* Nobody is called twice before everybody was called once. */
static void test_many(void **state) {
        Stage *s = *state;
        unsigned turns = 0, called = 0;

        for (size_t i = 0; i < MANY; i++) {
                watch(&s->guests[i], EPOLLIN);
                say(&s->guests[i]);
        }

        while (called < MANY) {
                assert_true(turn(s));
                assert_true(++turns < MANY);
                called = 0;
                for (size_t i = 0; i < MANY; i++)
                        called += s->guests[i].calls > 0;
        }
        assert_true(turns > 1);
        for (size_t i = 0; i < MANY; i++)
                assert_true(s->guests[i].calls <= 2);
}

/* Whoever is taken out by one that is called before it in the same turn is not called. */
static void test_taken_out(void **state) {
        Stage *s = *state;
        Guest *a = &s->guests[0], *b = &s->guests[1];

        a->victim = b;
        b->victim = a;
        watch(a, EPOLLIN);
        watch(b, EPOLLIN);
        say(a);
        say(b);
        assert_true(turn(s));
        assert_int_equal(a->calls + b->calls, 1);

        /* And may come back. */
        a->victim = b->victim = NULL;
        watch(a, EPOLLIN);
        watch(b, EPOLLIN);
        assert_true(turn(s));
        assert_int_equal(a->calls + b->calls, 3);
}

/* Itself, too. */
static void test_goes_by_itself(void **state) {
        Stage *s = *state;
        Guest *a = &s->guests[0];

        a->victim = a;
        watch(a, EPOLLIN);
        say(a);
        assert_true(turn(s));
        assert_false(turn(s));
        assert_int_equal(a->calls, 1);
}

static void test_bad_descriptor(void **state) {
        Stage *s = *state;
        PollEntry e = { .fd = -EBADF };

        assert_int_equal(poll_set_watch(s->set, &e, EPOLLIN), -EBADF);
        assert_false(e.watched);
}

static int on_exit_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        return sd_event_exit(sd_event_source_get_event(source), 7);
}

/* sd-event learns of a timer that a handler has armed, and ends the loop. */
static void test_timer(void **state) {
        Stage *s = *state;
        Guest *g = &s->guests[0];

        assert_true(sd_event_add_time_relative(s->event, &g->timer, CLOCK_MONOTONIC, 1000, 1, on_exit_timer, NULL) >= 0);
        assert_true(sd_event_source_set_enabled(g->timer, SD_EVENT_OFF) >= 0);
        assert_false(turn(s));
        assert_false(turn(s));

        watch(g, EPOLLIN | EPOLLET);
        say(g);
        assert_int_equal(poll_set_run(s->set), 7);
        assert_int_equal(g->calls, 1);
        g->timer = sd_event_source_disable_unref(g->timer);
}

static int on_defer(sd_event_source *source, void *userdata) {
        unsigned *calls = userdata;

        (*calls)++;
        return 0;
}

/* Neither sd-event nor those that are ready again and again keep the others waiting. */
static void test_both_busy(void **state) {
        sd_event_source *source;
        Stage *s = *state;
        unsigned calls = 0;

        assert_true(sd_event_add_defer(s->event, &source, on_defer, &calls) >= 0);
        assert_true(sd_event_source_set_enabled(source, SD_EVENT_ON) >= 0);
        for (size_t i = 0; i < MANY; i++) {
                watch(&s->guests[i], EPOLLIN);
                say(&s->guests[i]);
        }

        for (unsigned i = 1; i <= 50; i++) {
                assert_true(turn(s));
                assert_true(calls > i && calls <= i * MANY);
        }
        for (size_t i = 0; i < MANY; i++)
                assert_true(s->guests[i].calls > 0);

        sd_event_source_disable_unref(source);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_ready, setup, teardown),
                cmocka_unit_test_setup_teardown(test_many, setup, teardown),
                cmocka_unit_test_setup_teardown(test_taken_out, setup, teardown),
                cmocka_unit_test_setup_teardown(test_goes_by_itself, setup, teardown),
                cmocka_unit_test_setup_teardown(test_timer, setup, teardown),
                cmocka_unit_test_setup_teardown(test_both_busy, setup, teardown),
                cmocka_unit_test_setup_teardown(test_bad_descriptor, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
