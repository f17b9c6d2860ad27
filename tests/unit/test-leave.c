/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/clock.h"
#include "bridge/leave.h"

#define WAITERS 5

typedef struct Stage {
        sd_event *event;
        Budget budget;
        Leave *leave;
        LeaveWaiter waiters[WAITERS];
        unsigned order[WAITERS]; /* who was answered as the how manieth, from 1 on */
        bool granted[WAITERS];
        unsigned n_done;
} Stage;

static Stage stage;

static void on_done(void *userdata, bool granted) {
        LeaveWaiter *w = userdata;
        size_t i = (size_t) (w - stage.waiters);

        assert_false(w->waits);
        assert_int_equal(stage.order[i], 0);
        stage.order[i] = ++stage.n_done;
        stage.granted[i] = granted;
}

static void use_up(void) {
        stage.budget = (Budget) { .credit = BUDGET_KINDS_RESERVE * USEC_PER_SEC, .last = now_usec(), .n_lent = 1 };
}

static int setup(void **state) {
        stage = (Stage) { 0 };
        use_up();
        assert_true(sd_event_new(&stage.event) >= 0);
        assert_int_equal(leave_new(stage.event, &stage.budget, &stage.leave), 0);
        for (size_t i = 0; i < WAITERS; i++)
                stage.waiters[i] = (LeaveWaiter) { .done = on_done, .userdata = &stage.waiters[i] };

        return 0;
}

static int teardown(void **state) {
        for (size_t i = 0; i < WAITERS; i++)
                leave_forget(stage.leave, &stage.waiters[i]);
        (void) leave_free(stage.leave);
        sd_event_unref(stage.event);
        return 0;
}

static void run_until(unsigned n_done) {
        while (stage.n_done < n_done)
                assert_true(sd_event_run(stage.event, 10 * USEC_PER_SEC) > 0);
}

static void test_at_once(void **state) {
        stage.budget = budget_full(now_usec());
        for (unsigned i = 0; i < BUDGET_BURST - BUDGET_KINDS_RESERVE; i++)
                assert_true(leave_take(stage.leave, &stage.waiters[0]));
        assert_false(leave_take(stage.leave, &stage.waiters[0]));

        leave_forget(stage.leave, &stage.waiters[0]);
        leave_forget(stage.leave, &stage.waiters[0]);
        leave_give_back(stage.leave);
        assert_true(leave_take(stage.leave, &stage.waiters[0]));
        leave_use(stage.leave);
        assert_false(leave_take(stage.leave, &stage.waiters[0]));
        assert_int_equal(stage.n_done, 0);
}

/* In the order of coming, as room comes; also for one that comes when there is room and others wait. */
static void test_in_order(void **state) {
        uint64_t start = now_usec();

        for (size_t i = 0; i < WAITERS - 1; i++)
                assert_false(leave_take(stage.leave, &stage.waiters[i]));
        leave_forget(stage.leave, &stage.waiters[1]);
        leave_give_back(stage.leave);
        assert_false(leave_take(stage.leave, &stage.waiters[4]));

        run_until(4);
        for (size_t i = 0; i < WAITERS; i++) {
                assert_int_equal(stage.order[i], i == 0 ? 1 : i == 1 ? 0 : i);
                assert_int_equal(stage.granted[i], i != 1);
        }
        /* One was there, for three more it took as long as it takes. */
        assert_true(now_usec() >= start + 3 * USEC_PER_SEC / BUDGET_PER_SECOND);
}

/* Who goes from either end of the queue, or from the middle, leaves the others in it. */
static void test_forgotten(void **state) {
        for (size_t i = 0; i < WAITERS; i++)
                assert_false(leave_take(stage.leave, &stage.waiters[i]));
        leave_forget(stage.leave, &stage.waiters[0]);
        leave_forget(stage.leave, &stage.waiters[4]);
        leave_forget(stage.leave, &stage.waiters[2]);

        run_until(2);
        assert_int_equal(stage.order[1], 1);
        assert_int_equal(stage.order[3], 2);
}

static void test_too_long(void **state) {
        assert_false(leave_take(stage.leave, &stage.waiters[0]));
        assert_false(leave_take(stage.leave, &stage.waiters[1]));
        stage.waiters[0].since -= 10 * USEC_PER_SEC;

        /* As if others had taken all there was, in the moment before the tick. */
        assert_int_equal(sd_event_prepare(stage.event), 0);
        assert_true(sd_event_wait(stage.event, 10 * USEC_PER_SEC) > 0);
        use_up();
        assert_true(sd_event_dispatch(stage.event) >= 0);
        assert_int_equal(stage.order[0], 1);
        assert_false(stage.granted[0]);
        assert_true(stage.waiters[1].waits);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_at_once, setup, teardown),
                cmocka_unit_test_setup_teardown(test_in_order, setup, teardown),
                cmocka_unit_test_setup_teardown(test_forgotten, setup, teardown),
                cmocka_unit_test_setup_teardown(test_too_long, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
