/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/macro.h"
#include "bridge/slice.h"
#include "in-child.h"

static SchedAttr get(void) {
        SchedAttr a = {};

        assert_int_equal(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
        return a;
}

/* Whether this kernel takes a length of turn from SCHED_OTHER, and tells it. */
static bool heeded;

static void find_out(void) {
        SchedAttr a = get();

        a.runtime = 7 * 1000 * 1000;
        _exit(syscall(SYS_sched_setattr, 0, &a, 0) == 0 && get().runtime == a.runtime ? 0 : 2);
}

static void at_nice_level(void) {
        SchedAttr before, after;

        CHECK(setpriority(PRIO_PROCESS, 0, 5) == 0);
        before = get();
        CHECK(slice_ask_longer() == 0);
        after = get();

        CHECK(after.nice == 5 && after.policy == SCHED_OTHER && after.flags == before.flags);
        CHECK(!heeded || after.runtime > before.runtime);
}

static void test_longer(void **state) {
        heeded = in_child(find_out) == 0;
        assert_int_equal(in_child(at_nice_level), 0);
}

/* A batch job stays one. */
static void as_batch_job(void) {
        const struct sched_param none = {};

        CHECK(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
        CHECK(slice_ask_longer() == 0);
        CHECK(get().policy == SCHED_BATCH);
}

static void when_idle(void) {
        const struct sched_param none = {};
        SchedAttr before, after;

        CHECK(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
        before = get();
        CHECK(slice_ask_longer() == 0);
        after = get();
        CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

/* For whom a runtime is another thing. Not everybody may become one. */
static void with_deadline(void) {
        const SchedAttr a = {
                .size = sizeof(a), .policy = SCHED_DEADLINE, .runtime = 1000 * 1000, .deadline = 10 * 1000 * 1000, .period = 10 * 1000 * 1000
        };

        if (syscall(SYS_sched_setattr, 0, &a, 0) < 0)
                return;
        CHECK(slice_ask_longer() == 0);
        CHECK(get().policy == SCHED_DEADLINE && get().runtime == a.runtime);
}

static void test_other_policies(void **state) {
        assert_int_equal(in_child(as_batch_job), 0);
        assert_int_equal(in_child(when_idle), 0);
        assert_int_equal(in_child(with_deadline), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_longer),
                cmocka_unit_test(test_other_policies),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
