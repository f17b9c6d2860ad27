/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/alloc.h"

/* The address sanitizer otherwise ends a program that asks for too much. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
        return "allocator_may_return_null=1";
}

static void test_grow(void **state) {
        _cleanup_free_ uint32_t *v = NULL;
        size_t allocated = 0;

        assert_int_equal(grow(&v, &allocated, 0, sizeof(*v)), 0);
        assert_null(v);

        for (size_t n = 1; n <= 1000; n++) {
                assert_int_equal(grow(&v, &allocated, n, sizeof(*v)), 0);
                assert_true(allocated >= n);
                v[n - 1] = (uint32_t) n;
        }
        for (size_t i = 0; i < 1000; i++)
                assert_int_equal(v[i], i + 1);
}

static void test_grow_overflow(void **state) {
        _cleanup_free_ uint32_t *v = NULL;
        size_t allocated = 0;
        uint32_t *before;

        assert_int_equal(grow(&v, &allocated, 4, sizeof(*v)), 0);
        before = v;
        v[0] = 7;

        assert_int_equal(grow(&v, &allocated, SIZE_MAX / 2, sizeof(*v)), -ENOMEM);
        assert_ptr_equal(v, before);
        assert_int_equal(v[0], 7);
        assert_true(allocated < 100);
}

static void test_memdup_nul(void **state) {
        _cleanup_free_ char *a = memdup_nul("a\0b", 3), *empty = memdup_nul(NULL, 0);

        assert_memory_equal(a, "a\0b", 4);
        assert_string_equal(empty, "");
}

static void test_strdup_to(void **state) {
        _cleanup_free_ char *s = NULL;

        assert_int_equal(strdup_to(&s, "one"), 0);
        assert_string_equal(s, "one");

        /* The new value may lie in the old one. */
        assert_int_equal(strdup_to(&s, s + 1), 0);
        assert_string_equal(s, "ne");

        assert_int_equal(strdup_to(&s, NULL), 0);
        assert_null(s);
}

static void test_asprintf_to(void **state) {
        _cleanup_free_ char *s = NULL;

        assert_int_equal(asprintf_to(&s, "%s-%d", "a", 7), 0);
        assert_string_equal(s, "a-7");
}

static void test_take(void **state) {
        char *p = strdup("x");
        _cleanup_free_ char *q = TAKE_PTR(p);
        int fd = 5, taken = TAKE_FD(fd);

        assert_null(p);
        assert_string_equal(q, "x");
        assert_int_equal(fd, -EBADF);
        assert_int_equal(taken, 5);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_grow),
                cmocka_unit_test(test_grow_overflow),
                cmocka_unit_test(test_memdup_nul),
                cmocka_unit_test(test_strdup_to),
                cmocka_unit_test(test_asprintf_to),
                cmocka_unit_test(test_take),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
