/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/path.h"

static void test_join(void **state) {
        static const char *const rows[][3] = {
                { "/a", "b", "/a/b" }, { "/a/", "b", "/a/b" }, { "/", "b", "/b" }, { "/a", "b/c", "/a/b/c" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *s = path_join(rows[i][0], rows[i][1]);

                assert_string_equal(s, rows[i][2]);
        }
}

static void test_within(void **state) {
        static const struct {
                const char *path;
                const char *dir;
                bool within;
                bool overlaps;
        } rows[] = {
                { "/a/b", "/a/b", true, true },   { "/a/b/c", "/a/b", true, true },
                { "/a/bc", "/a/b", false, false }, { "/a/b", "/a/bc", false, false },
                { "/a", "/a/b", false, true },    { "/a/b", "/", true, true },
                { "/", "/", true, true },         { "/", "/a", false, true },
                { "/a/b-c", "/a/b", false, false }, { "/b", "/a", false, false },
                { "/a/b\n", "/a/b", false, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                assert_int_equal(path_is_within(rows[i].path, rows[i].dir), rows[i].within);
                assert_int_equal(path_overlaps(rows[i].path, rows[i].dir), rows[i].overlaps);
                assert_int_equal(path_overlaps(rows[i].dir, rows[i].path), rows[i].overlaps);
        }
}

static void test_normalized(void **state) {
        static const char *const good[] = { "/", "/a", "/a/b", "/...", "/.a", "/a..", "/a b/\n" };
        static const char *const bad[] = {
                "", "a", "./a", "//", "//a", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/..", "/./a", "/../a", "/a/../b",
        };

        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                assert_true(path_is_normalized(good[i]));
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                assert_false(path_is_normalized(bad[i]));
}

static void test_last(void **state) {
        assert_string_equal(path_last("/a/b"), "b");
        assert_string_equal(path_last("b"), "b");
        assert_string_equal(path_last("/a/"), "");
        assert_string_equal(path_last(""), "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_join),
                cmocka_unit_test(test_within),
                cmocka_unit_test(test_normalized),
                cmocka_unit_test(test_last),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
