/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "basic/fd.h"
#include "guest/events.h"

typedef struct Fixture {
        Events events;
        EventSource sources[2];
        int pipes[2][2];
        unsigned calls[2];
        uint32_t revents[2];
        int result;
        bool drop_other; /* the first source that is called takes the other one out */
} Fixture;

static int dispatch(EventSource *s, uint32_t revents) {
        Fixture *f = s->userdata;
        size_t i = (size_t) (s - f->sources);

        f->calls[i]++;
        f->revents[i] = revents;
        if (f->drop_other)
                assert_int_equal(events_watch(&f->events, &f->sources[1 - i], 0), 0);
        return f->result;
}

static int set_up(void **state) {
        static Fixture f;

        f = (Fixture) {};
        assert_int_equal(events_init(&f.events), 0);
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(pipe2(f.pipes[i], O_CLOEXEC | O_NONBLOCK), 0);
                f.sources[i] = (EventSource) { .fd = f.pipes[i][0], .dispatch = dispatch, .userdata = &f };
                assert_int_equal(events_watch(&f.events, &f.sources[i], EPOLLIN), 0);
                assert_int_equal(write(f.pipes[i][1], "x", 1), 1);
        }

        *state = &f;
        return 0;
}

static int tear_down(void **state) {
        Fixture *f = *state;

        for (size_t i = 0; i < 4; i++)
                (void) close(f->pipes[i / 2][i % 2]);
        events_done(&f->events);
        return 0;
}

static void test_dispatch(void **state) {
        Fixture *f = *state;

        assert_int_equal(events_run(&f->events, -1), 0);
        assert_int_equal(f->calls[0], 1);
        assert_int_equal(f->calls[1], 1);
        assert_int_equal(f->revents[0], EPOLLIN);

        assert_int_equal(events_watch(&f->events, &f->sources[0], 0), 0);
        assert_int_equal(events_watch(&f->events, &f->sources[0], 0), 0);
        assert_int_equal(events_run(&f->events, -1), 0);
        assert_int_equal(f->calls[0], 1);
        assert_int_equal(f->calls[1], 2);

        assert_int_equal(events_watch(&f->events, &f->sources[1], 0), 0);
        assert_int_equal(events_run(&f->events, 0), 0);
        assert_int_equal(f->calls[1], 2);
}

/* A source that is taken out by another one is not called any more, though epoll has already reported it. */
static void test_forget(void **state) {
        Fixture *f = *state;

        f->drop_other = true;
        assert_int_equal(events_run(&f->events, -1), 0);
        assert_int_equal(f->calls[0] + f->calls[1], 1);
}

static void test_error(void **state) {
        Fixture *f = *state;

        f->result = -EIO;
        assert_int_equal(events_run(&f->events, -1), -EIO);
        assert_int_equal(f->calls[0] + f->calls[1], 1);
}

static void test_refused(void **state) {
        Fixture *f = *state;
        _cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        EventSource s = { .fd = fd, .dispatch = dispatch };

        assert_int_equal(events_watch(&f->events, &s, EPOLLIN), -EPERM);
        assert_int_equal(s.mask, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_dispatch, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_forget, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_error, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
