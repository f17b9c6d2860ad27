/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/parse.h"

static void test_bool(void **state) {
        static const struct {
                const char *text;
                int value; /* -1: refused */
        } rows[] = {
                { "1", 1 },     { "true", 1 },  { "TRUE", 1 },   { "yes", 1 },  { "On", 1 },  { "0", 0 },
                { "False", 0 }, { "no", 0 },    { "OFF", 0 },    { "", -1 },    { "2", -1 },  { "y", -1 },
                { "true ", -1 }, { " 1", -1 },  { "01", -1 },    { "tru", -1 }, { "on\n", -1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                bool b = rows[i].value != 1;
                int r;

                r = parse_bool(rows[i].text, &b);
                assert_int_equal(r, rows[i].value < 0 ? -EINVAL : 0);
                if (r >= 0)
                        assert_int_equal(b, rows[i].value);
        }
}

static void test_uint(void **state) {
        static const struct {
                const char *text;
                uint64_t min;
                uint64_t max;
                int result;
                uint64_t value;
        } rows[] = {
                { "0", 0, 10, 0, 0 },
                { "007", 0, 10, 0, 7 },
                { "10", 0, 10, 0, 10 },
                { "11", 0, 10, -ERANGE, 0 },
                { "4", 5, 10, -ERANGE, 0 },
                { "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX },
                { "18446744073709551616", 0, UINT64_MAX, -ERANGE, 0 },
                { "184467440737095516150", 0, UINT64_MAX, -ERANGE, 0 },
                { "99999999999999999999999999", 0, UINT64_MAX, -ERANGE, 0 },
                { "", 0, 10, -EINVAL, 0 },
                { "-1", 0, 10, -EINVAL, 0 },
                { "+1", 0, 10, -EINVAL, 0 },
                { " 1", 0, 10, -EINVAL, 0 },
                { "1 ", 0, 10, -EINVAL, 0 },
                { "1\n", 0, 10, -EINVAL, 0 },
                { "0x1", 0, 10, -EINVAL, 0 },
                { "1.0", 0, 10, -EINVAL, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t v = 77;

                assert_int_equal(parse_uint(rows[i].text, rows[i].min, rows[i].max, &v), rows[i].result);
                assert_int_equal(v, rows[i].result < 0 ? 77 : rows[i].value);
        }
}

static void test_hex(void **state) {
        char out[9];

        hex_encode("\x00\x0f\xa0\xff", 4, out);
        assert_string_equal(out, "000fa0ff");
        hex_encode("", 0, out);
        assert_string_equal(out, "");

        assert_true(hex_is_valid("0123456789abcdef", 16));
        assert_true(hex_is_valid("", 0));
        assert_false(hex_is_valid("0123456789abcdef", 15));
        assert_false(hex_is_valid("0123456789abcdef", 17));
        assert_false(hex_is_valid("0123456789abcdeF", 16));
        assert_false(hex_is_valid("0123456789abcde ", 16));
        assert_false(hex_is_valid("0123456789abcdeg", 16));
}

static void test_size(void **state) {
        static const struct {
                const char *text;
                uint64_t unit;
                int result;
                uint64_t value;
        } rows[] = {
                { "0", 1, 0, 0 },
                { "17", 1, 0, 17 },
                { "17", MIB, 0, 17 * MIB },
                { "17B", MIB, 0, 17 },
                { "2K", 1, 0, 2048 },
                { "1.5G", 1, 0, 1536 * MIB },
                { "0.125K", 1, 0, 128 },
                { "0.001K", 1, 0, 1 },
                { "15E", 1, 0, UINT64_C(15) << 60 },
                { "16E", 1, -EINVAL, 0 },
                { "18446744073709551615", 1, 0, UINT64_MAX },
                { "18446744073709551616", 1, -EINVAL, 0 },
                { "1.5", 1, -EINVAL, 0 },
                { "1.5B", 1, -EINVAL, 0 },
                { "1.2345G", 1, -EINVAL, 0 },
                { "1.G", 1, -EINVAL, 0 },
                { ".5G", 1, -EINVAL, 0 },
                { "", 1, -EINVAL, 0 },
                { "G", 1, -EINVAL, 0 },
                { "-1", 1, -EINVAL, 0 },
                { "1GB", 1, -EINVAL, 0 },
                { "1g", 1, -EINVAL, 0 },
                { "1 G", 1, -EINVAL, 0 },
                { "1%", 1, -EINVAL, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t v = 0;

                assert_int_equal(parse_size(rows[i].text, rows[i].unit, &v), rows[i].result);
                assert_int_equal(v, rows[i].value);
        }
}

static void test_permyriad(void **state) {
        static const struct {
                const char *text;
                int result;
                uint64_t value;
        } rows[] = {
                { "0%", 0, 0 },
                { "100%", 0, 10000 },
                { "12.5%", 0, 1250 },
                { "12.05%", 0, 1205 },
                { "0.01%", 0, 1 },
                { "150000%", 0, 15000000 },
                { "184467440737095516.15%", 0, UINT64_MAX },
                { "184467440737095516.16%", -EINVAL, 0 },
                { "184467440737095517%", -EINVAL, 0 },
                { "12.345%", -EINVAL, 0 },
                { "12.%", -EINVAL, 0 },
                { ".5%", -EINVAL, 0 },
                { "%", -EINVAL, 0 },
                { "12", -EINVAL, 0 },
                { "12%%", -EINVAL, 0 },
                { "12 %", -EINVAL, 0 },
                { "-1%", -EINVAL, 0 },
                { "", -EINVAL, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t v = 0;

                assert_int_equal(parse_permyriad(rows[i].text, &v), rows[i].result);
                if (rows[i].result == 0)
                        assert_int_equal(v, rows[i].value);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bool),
                cmocka_unit_test(test_uint),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_permyriad),
                cmocka_unit_test(test_hex),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
