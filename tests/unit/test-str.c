/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"

static void test_prefix_suffix(void **state) {
        assert_string_equal(str_after_prefix("abc", "a"), "bc");
        assert_string_equal(str_after_prefix("abc", ""), "abc");
        assert_string_equal(str_after_prefix("abc", "abc"), "");
        assert_null(str_after_prefix("abc", "abcd"));
        assert_null(str_after_prefix("", "a"));

        assert_true(str_has_suffix("a.service", ".service"));
        assert_true(str_has_suffix("a", ""));
        assert_true(str_has_suffix("", ""));
        assert_false(str_has_suffix("service", ".service"));
        assert_false(str_has_suffix("a.Service", ".service"));

        assert_true(str_is_empty(NULL));
        assert_true(str_is_empty(""));
        assert_false(str_is_empty(" "));
}

static void test_utf8(void **state) {
        static const struct {
                const char *text;
                size_t n; /* 0: strlen() */
                bool valid;
        } rows[] = {
                { "plain", 0, true },
                { "grüß 日本 \xf0\x9f\x98\x80", 0, true },
                { "\x7f", 0, true },
                { "\xc2\x80", 0, true },
                { "\xdf\xbf", 0, true },
                { "\xe0\xa0\x80", 0, true },
                { "\xed\x9f\xbf", 0, true },
                { "\xee\x80\x80", 0, true },
                { "\xf0\x90\x80\x80", 0, true },
                { "\xf4\x8f\xbf\xbf", 0, true },
                { "a\0b", 3, false },
                { "\x80", 0, false },                /* a continuation alone */
                { "\xc0\xaf", 0, false },            /* overlong '/' */
                { "\xc1\xbf", 0, false },
                { "\xe0\x80\xaf", 0, false },
                { "\xe0\x9f\xbf", 0, false },
                { "\xf0\x80\x80\xaf", 0, false },
                { "\xf0\x8f\xbf\xbf", 0, false },
                { "\xed\xa0\x80", 0, false },        /* surrogates */
                { "\xed\xbf\xbf", 0, false },
                { "\xf4\x90\x80\x80", 0, false },    /* beyond U+10FFFF */
                { "\xf8\x88\x80\x80\x80", 0, false },
                { "\xff", 0, false },
                { "\xc3", 0, false },                /* cut off */
                { "\xe6\x97", 0, false },
                { "\xf0\x9f\x98", 0, false },
                { "\xc3(", 0, false },
        };

        assert_true(utf8_is_valid("", 0));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(utf8_is_valid(rows[i].text, rows[i].n ?: strlen(rows[i].text)), rows[i].valid);
}

static void test_escape(void **state) {
        static const char *const rows[][2] = {
                { "", "" },
                { "plain text, with \\ and \"", "plain text, with \\ and \"" },
                { "grüß 日本", "grüß 日本" },
                { "a\nb\tc\r", "a\\x0ab\\x09c\\x0d" },
                { "\033[2J", "\\x1b[2J" },
                { "\x7f", "\\x7f" },
                { "\xc2\x9b" "2J", "\\xc2\\x9b2J" },              /* C1: CSI in one character */
                { "\xc2\xa0", "\xc2\xa0" },                       /* the first behind C1 */
                { "\xff\xfe", "\\xff\\xfe" },
                { "\xe6\x97", "\\xe6\\x97" },
                { "a\xe2\x80\xae" "b", "a\\xe2\\x80\\xaeb" },     /* right-to-left override */
                { "a\xe2\x80\xa8" "b", "a\\xe2\\x80\\xa8b" },     /* line separator */
                { "\xe2\x81\xa6", "\\xe2\\x81\\xa6" },            /* isolate */
                { "\xef\xbb\xbf", "\\xef\\xbb\\xbf" },            /* byte order mark */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *s = str_escape(rows[i][0]);

                assert_string_equal(s, rows[i][1]);
        }
}

static void test_escape_limit(void **state) {
        static const struct {
                const char *text;
                size_t n;
                size_t max;
                const char *expected;
        } rows[] = {
                { "abcdef", 6, 6, "abcdef" },
                { "abcdef", 6, 5, "abcde…" },
                { "abcdef", 6, 0, "…" },
                { "", 0, 0, "" },
                { "a\nb", 3, 5, "a\\x0a…" },
                { "a\nb", 3, 4, "a…" },           /* an escape is never cut */
                { "日本", 6, 3, "日…" },
                { "日本", 6, 4, "日…" },          /* nor a character */
                { "a\0b", 3, 100, "a\\x00b" },
                { "abc", 2, 100, "ab" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *s = str_escape_n(rows[i].text, rows[i].n, rows[i].max);

                assert_string_equal(s, rows[i].expected);
        }
}

/* Whatever comes in, what goes out is UTF-8 without a control character. */
static void test_escape_any(void **state) {
        for (unsigned a = 0; a < 256; a++)
                for (unsigned b = 0; b < 256; b++) {
                        const char in[] = { (char) a, (char) b, 'x' };
                        _cleanup_free_ char *s = str_escape_n(in, sizeof(in), 100);

                        assert_true(utf8_is_valid(s, strlen(s)));
                        for (const char *p = s; *p; p++)
                                assert_true((unsigned char) *p >= 0x20 && *p != 0x7f);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_prefix_suffix),
                cmocka_unit_test(test_utf8),
                cmocka_unit_test(test_escape),
                cmocka_unit_test(test_escape_limit),
                cmocka_unit_test(test_escape_any),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
