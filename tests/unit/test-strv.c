/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"

static void assert_list(char **v, const char *const *expected, size_t n) {
        assert_int_equal(strv_length(v), n);
        for (size_t i = 0; i < n; i++)
                assert_string_equal(v[i], expected[i]);
}

static void test_add(void **state) {
        _cleanup_strv_ char **v = NULL, **w = NULL;

        assert_int_equal(strv_length(NULL), 0);
        assert_int_equal(strv_add(&v, "a"), 0);
        assert_int_equal(strv_addf(&v, "%d", 7), 0);
        assert_int_equal(strv_take(&v, strdup("b")), 0);
        assert_int_equal(strv_add_many(&v, "c", "", NULL), 0);
        assert_int_equal(strv_add_many(&v, NULL), 0);
        assert_list(v, (const char *[]) { "a", "7", "b", "c", "" }, 5);

        assert_int_equal(strv_extend(&w, v), 0);
        assert_int_equal(strv_extend(&w, NULL), 0);
        assert_list(w, (const char *[]) { "a", "7", "b", "c", "" }, 5);
        assert_ptr_not_equal(v[0], w[0]);

        assert_int_equal(strv_take(&v, NULL), -ENOMEM);
        assert_int_equal(strv_length(v), 5);
}

static void test_contains(void **state) {
        _cleanup_strv_ char **v = NULL;

        assert_false(strv_contains(NULL, "a"));
        assert_int_equal(strv_add_many(&v, "ab", "c", NULL), 0);
        assert_true(strv_contains(v, "c"));
        assert_false(strv_contains(v, "a"));
        assert_false(strv_contains(v, ""));
}

static void test_env_get(void **state) {
        _cleanup_strv_ char **v = NULL;

        assert_int_equal(strv_add_many(&v, "A=1", "AB=2", "E=", "A=3", "NOVALUE", "C=x=y", NULL), 0);
        assert_string_equal(strv_env_get(v, "A"), "3");
        assert_string_equal(strv_env_get(v, "AB"), "2");
        assert_string_equal(strv_env_get(v, "E"), "");
        assert_string_equal(strv_env_get(v, "C"), "x=y");
        assert_null(strv_env_get(v, "NOVALUE"));
        assert_null(strv_env_get(v, "B"));
        assert_null(strv_env_get(v, "a"));
        assert_null(strv_env_get(NULL, "A"));
}

static void test_split(void **state) {
        static const struct {
                const char *text;
                size_t n;
                const char *items[4];
        } rows[] = {
                { "", 0, {} },
                { ",", 0, {} },
                { " , \t,\n", 0, {} },
                { "a", 1, { "a" } },
                { "a,b", 2, { "a", "b" } },
                { ",a,,b,", 2, { "a", "b" } },
                { " a b ,\tc\n", 2, { "a b", "c" } },
                { "a=b,c=d=e", 2, { "a=b", "c=d=e" } },
                { "ä,ö", 2, { "ä", "ö" } },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_strv_ char **v = NULL;

                assert_int_equal(strv_split(rows[i].text, ',', &v), 0);
                assert_non_null(v);
                assert_list(v, rows[i].items, rows[i].n);
        }
}

/* A blank as separator leaves out what two of them enclose. */
static void test_split_blanks(void **state) {
        _cleanup_strv_ char **v = NULL;

        assert_int_equal(strv_split(" a  b\tc ", ' ', &v), 0);
        assert_list(v, (const char *[]) { "a", "b\tc" }, 2);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_add),
                cmocka_unit_test(test_contains),
                cmocka_unit_test(test_env_get),
                cmocka_unit_test(test_split),
                cmocka_unit_test(test_split_blanks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
