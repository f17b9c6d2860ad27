/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/strv.h"
#include "guest/launch-files.h"

static void test_lists(void **state) {
        static const struct {
                const char *buf;
                size_t n;
                int result;
                size_t length;
                const char *items[4];
        } rows[] = {
                { "", 0, 0, 0, {} },
                { "\0", 1, 0, 1, { "" } },
                { "a\0", 2, 0, 1, { "a" } },
                { "a\0b c\0\0", 7, 0, 3, { "a", "b c", "" } },
                { "\0\0x\n=\0", 6, 0, 3, { "", "", "x\n=" } },
                { "\xff\0", 2, 0, 1, { "\xff" } },
                { "a", 1, -EBADMSG, 0, {} },
                { "a\0b", 3, -EBADMSG, 0, {} },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_strv_ char **v = NULL;

                assert_int_equal(nul_list_parse(rows[i].buf, rows[i].n, &v), rows[i].result);
                assert_int_equal(strv_length(v), rows[i].length);
                for (size_t k = 0; k < rows[i].length; k++)
                        assert_string_equal(v[k], rows[i].items[k]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lists),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
