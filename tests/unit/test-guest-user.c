/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "guest/user.h"

static void test_insert(void **state) {
        static const char *const rows[][2] = {
                { "", "NEW\n" },
                { "root:x:0:0\n", "root:x:0:0\nNEW\n" },
                { "root:x:0:0", "root:x:0:0\nNEW\n" },
                { "root:x:0:0\nnode:x:1000:1000\nz:x:5\n", "root:x:0:0\nNEW\nnode:x:1000:1000\nz:x:5\n" },
                { "node:x:1000:1000", "NEW\nnode:x:1000:1000" },
                { "a:x:10001:1000\nb:x:100:1000\nc:1000:7\n", "a:x:10001:1000\nb:x:100:1000\nc:1000:7\nNEW\n" },
                { "me:x:5:5\n", "NEW\nme:x:5:5\n" },
                { "me2:x:5:5\n", "me2:x:5:5\nNEW\n" },
                { "a:x:1:1\n+nis\nb:x:2:2\n", "a:x:1:1\nNEW\n+nis\nb:x:2:2\n" },
                { "# comment\n\n:::\nshort\n", "# comment\n\n:::\nshort\nNEW\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *s = account_file_insert(rows[i][0], "me", "1000", "NEW");

                assert_string_equal(s, rows[i][1]);
        }
}

static void test_field(void **state) {
        static const char text[] = "root:x:0:0:root:/root:/bin/sh\nshort:x:7\nempty:x:8:8::/home:\nroot:x:9:9::/other:\n";
        static const struct {
                unsigned key;
                const char *value;
                unsigned index;
                const char *expected;
        } rows[] = {
                { 0, "root", 5, "/root" },  { 2, "0", 0, "root" },  { 2, "9", 5, "/other" }, { 0, "short", 2, "7" },
                { 0, "short", 3, "" },      { 0, "short", 9, "" },  { 2, "8", 4, "" },       { 2, "8", 6, "" },
                { 0, "none", 0, NULL },     { 2, "", 0, NULL },     { 0, "roo", 0, NULL },   { 6, "/bin/sh", 0, "root" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *s = account_file_field(text, rows[i].key, rows[i].value, rows[i].index);

                if (rows[i].expected)
                        assert_string_equal(s, rows[i].expected);
                else
                        assert_null(s);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_insert),
                cmocka_unit_test(test_field),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
