/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bridge/budget.h"

static unsigned take_all(Budget *b, uint64_t now) {
        unsigned n = 0;

        while (budget_take(b, now, 0))
                n++;

        return n;
}

static void test_burst_then_rate(void **state) {
        const uint64_t start = 123456789;
        Budget b = budget_full(start);

        assert_int_equal(take_all(&b, start), BUDGET_BURST);
        assert_int_equal(take_all(&b, start + USEC_PER_SEC / BUDGET_PER_SECOND - 1), 0);
        assert_int_equal(take_all(&b, start + USEC_PER_SEC / BUDGET_PER_SECOND), 1);
        assert_int_equal(take_all(&b, start + USEC_PER_SEC), BUDGET_PER_SECOND - 1);
}

static void test_never_more_than_the_burst(void **state) {
        Budget b = budget_full(0);

        assert_int_equal(take_all(&b, 0), BUDGET_BURST);
        assert_int_equal(take_all(&b, UINT64_MAX), BUDGET_BURST);

        b = budget_full(0);
        assert_int_equal(take_all(&b, 3600 * USEC_PER_SEC), BUDGET_BURST);
}

static void test_reserve(void **state) {
        Budget b = budget_full(0);
        unsigned n = 0;

        while (budget_take(&b, 0, 10))
                n++;
        assert_int_equal(n, BUDGET_BURST - 10);

        /* What comes in first fills the reserve. */
        assert_int_equal(take_all(&b, 0), 10);
        assert_false(budget_take(&b, USEC_PER_SEC / 2, 10));
        assert_true(budget_take(&b, USEC_PER_SEC, 10));
}

/* An hour of steady flood: what was promised, however often it is asked. */
static void test_flood(void **state) {
        Budget b = budget_full(0);
        unsigned n = 0;

        for (uint64_t now = 0; now <= 3600 * USEC_PER_SEC; now += 997)
                n += budget_take(&b, now, 0);

        assert_in_range(n, BUDGET_BURST + 3600 * BUDGET_PER_SECOND - 1,
                        BUDGET_BURST + 3600 * BUDGET_PER_SECOND);
}

/* What is lent out is not filled up meanwhile, however long that takes. */
static void test_lent(void **state) {
        Budget b = budget_full(0);
        unsigned n = 0;

        for (uint64_t second = 0; second < 100; second++)
                while (budget_lend(&b, second * USEC_PER_SEC, 10))
                        n++;
        assert_int_equal(n, BUDGET_BURST - 10);
        assert_int_equal(take_all(&b, 100 * USEC_PER_SEC), 10);

        /* Given back it is there at once; spent, by and by. */
        budget_give_back(&b);
        assert_int_equal(take_all(&b, 100 * USEC_PER_SEC), 1);
        budget_spend(&b);
        budget_spend(&b);
        assert_int_equal(take_all(&b, 100 * USEC_PER_SEC), 0);
        assert_int_equal(take_all(&b, 200 * USEC_PER_SEC), 10 + 3);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_burst_then_rate),
                cmocka_unit_test(test_never_more_than_the_burst),
                cmocka_unit_test(test_reserve),
                cmocka_unit_test(test_flood),
                cmocka_unit_test(test_lent),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
