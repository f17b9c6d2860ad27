/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/random.h"

static void test_random(void **state) {
        static char a[1000], b[1000];
        unsigned seen = 0;
        bool found[256] = {};

        assert_int_equal(random_bytes(a, sizeof(a)), 0);
        assert_int_equal(random_bytes(b, sizeof(b)), 0);
        assert_memory_not_equal(a, b, sizeof(a));
        assert_int_equal(random_bytes(NULL, 0), 0);

        /* All of the buffer is filled: with 1,000 bytes some 250 values are expected. */
        for (size_t i = 0; i < sizeof(a); i++)
                if (!found[(unsigned char) a[i]]) {
                        found[(unsigned char) a[i]] = true;
                        seen++;
                }
        assert_true(seen > 200);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_random),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
