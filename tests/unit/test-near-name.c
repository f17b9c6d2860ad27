/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launch/near-name.h"

static void test_near(void **state) {
        const char *const names[] = { "work", "personal", "a", "my-team", "work-2", NULL };
        static const char *const rows[][2] = {
                { "work", "work" },
                { "WORK", "work" },
                { "wrok", "work" },
                { "wor", "work" },
                { "works", "work" },
                { "wark", "work" },
                { "wk", NULL },
                { "w", NULL },
                { "personel", "personal" },
                { "prsonl", "personal" },
                { "prsnl", NULL },
                { "pers", "personal" },
                { "p", NULL },
                { "my", "my-team" },
                { "my_team", "my-team" },
                { "A", "a" },
                { "b", NULL },
                { "nothing-like-it", NULL },
                { "", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *near = near_name((char *const *) names, rows[i][0]);

                if (!rows[i][1] != !near || (near && strcmp(near, rows[i][1]) != 0))
                        fail_msg("'%s': '%s', not '%s'", rows[i][0], near, rows[i][1]);
        }

        assert_null(near_name(NULL, "x"));
}

/* As long as a profile's name can be, and longer. */
static void test_long(void **state) {
        char a[101], b[201];
        const char *const names[] = { a, NULL };

        memset(a, 'x', 100);
        memset(b, 'x', 200);
        a[100] = b[200] = '\0';
        assert_ptr_equal(near_name((char *const *) names, a), a);
        assert_ptr_equal(near_name((char *const *) names, a + 1), a);
        assert_null(near_name((char *const *) names, b));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_near),
                cmocka_unit_test(test_long),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
