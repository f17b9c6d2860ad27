/* SPDX-License-Identifier: MIT */

/* JSON with marks: what is JSON, where errors are, values of strings, and changes that leave every other byte alone. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "shared/json-text.h"

static void test_sound(void **state) {
        static const char *const rows[] = {
                "{}", "[]", " \t\r\n{ } \n", "\xef\xbb\xbf{}", "\"\"", "0", "-0", "12.50e+10", "1E-2", "true", "false", "null",
                "{\"a\":[1,{\"b\":null},\"c\"],\"a\":{}}", "[[[[]]]]", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\\ud800\"",
                "\"grüß 日本\"", "[1 , 2 ]", "{\"\":\"\"}",
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_json_text_ JsonText t = { 0 };
                _cleanup_free_ char *error = NULL, *same = NULL;
                JsonEdits none = { 0 };
                size_t n;

                assert_int_equal(json_text_parse(rows[i], strlen(rows[i]), &t, &error), 0);
                assert_int_equal(json_edits_apply(&none, &t, &same, &n), 0);
                assert_int_equal(n, strlen(rows[i] + json_mark_length(rows[i], strlen(rows[i]))));
                assert_string_equal(same, rows[i] + json_mark_length(rows[i], strlen(rows[i])));
        }
}

static void test_broken(void **state) {
        static const struct {
                const char *text, *error;
        } rows[] = {
                { "", "line 1, column 1: a value is missing" },
                { "  \n ", "line 2, column 2: a value is missing" },
                { "{\n  \"permissions\": {\n    \"deny\": [\"Bash(rm:*)\",]\n  }\n}", "line 3, column 27: a value is missing" },
                { "{\n  // remark\n}", "line 2, column 3: a name in double quotes is missing" },
                { "{\"é\" 1}", "line 1, column 6: a colon is missing" },
                { "{\"a\":1 \"b\":2}", "line 1, column 8: a comma or } is missing" },
                { "[1 2]", "line 1, column 4: a comma or ] is missing" },
                { "{\"a\":1,}", "line 1, column 8: a name in double quotes is missing" },
                { "{", "a name in double quotes is missing" },
                { "[", "a value is missing" },
                { "[1", "a comma or ] is missing" },
                { "\"abc", "the string does not end" },
                { "\"abc\\", "the string does not end" },
                { "\"\\x\"", "there is no such escape" },
                { "\"\\u12g4\"", "four hexadecimal digits" },
                { "\"a\nb\"", "a control character" },
                { "\"\xff\"", "not UTF-8" },
                { "{} {}", "line 1, column 4: something follows" },
                { "01", "something follows" },
                { "1.", "the number does not end" },
                { "1e", "the number does not end" },
                { "-", "a value is missing" },
                { "tru", "a value is missing" },
                { "'a'", "a value is missing" },
                { "{a:1}", "a name in double quotes is missing" },
                { "NaN", "a value is missing" },
        };
        char deep[2 * JSON_DEPTH_MAX + 8] = "";
        _cleanup_json_text_ JsonText t = { 0 };
        _cleanup_free_ char *error = NULL, *zero = NULL;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *why = NULL;

                assert_int_equal(json_text_parse(rows[i].text, strlen(rows[i].text), &t, &why), -EBADMSG);
                assert_non_null(why);
                if (!strstr(why, rows[i].error))
                        fail_msg("%s: %s", rows[i].text, why);
        }

        memset(deep, '[', JSON_DEPTH_MAX + 1);
        assert_int_equal(json_text_parse(deep, strlen(deep), &t, &error), -EBADMSG);
        assert_non_null(strstr(error, "too many levels"));
        assert_int_equal(json_text_parse("{\"a\":\"b\0c\"}", 11, &t, &zero), -EBADMSG);
        assert_string_equal(zero, "line 1, column 8: a zero byte");
}

static void test_strings(void **state) {
        static const char text[] = "{\"k\\u0000x\":1,\"k\":\"v\",\"\\u006b\":\"last\\u0000!\",\"n\":7,\"e\":\"\\ud83d\\ude00\\ud800\\\"\\n\"}";
        _cleanup_json_text_ JsonText t = { 0 };
        _cleanup_free_ char *error = NULL, *value = NULL, *emoji = NULL, *quoted = NULL;
        size_t n;

        assert_int_equal(json_text_parse(text, sizeof(text) - 1, &t, &error), 0);
        /* Of several the last, however it is written; a name with a NUL is another one. */
        assert_int_equal(json_string(&t, json_member(&t, t.root, "k"), &value, &n), 0);
        assert_int_equal(n, 6);
        assert_memory_equal(value, "last\0!", 6);
        assert_false(json_string_is(&t, json_member(&t, t.root, "k"), "last"));
        assert_null(json_member(&t, t.root, "missing"));
        assert_null(json_member(&t, json_member(&t, t.root, "n"), "x"));
        assert_int_equal(json_string(&t, json_member(&t, t.root, "n"), &value, &n), -EINVAL);
        assert_int_equal(json_string(&t, json_member(&t, t.root, "e"), &emoji, &n), 0);
        assert_string_equal(emoji, "😀\xef\xbf\xbd\"\n");

        quoted = json_quote("a\"\\\0\n\x1f", 6);
        assert_string_equal(quoted, "\"a\\\"\\\\\\u0000\\u000a\\u001f\"");
}

static bool drop_x(const JsonText *t, const JsonNode *child) {
        return json_string_is(t, child, "x");
}

static void test_filter(void **state) {
        static const struct {
                const char *before, *after;
        } rows[] = {
                { "[]", "[]" },
                { "[1]", "[1]" },
                { "[\"x\"]", "[]" },
                { "[ \"x\" ]", "[  ]" },
                { "[\"x\", \"x\"]", "[]" },
                { "[\"x\", 1]", "[1]" },
                { "[1, \"x\"]", "[1]" },
                { "[1, \"x\", 2]", "[1, 2]" },
                { "[\"x\", 1, \"x\", \"x\", 2, \"x\"]", "[1, 2]" },
                { "[\n  \"x\",\n  1,\n  \"x\"\n]", "[\n  1\n]" },
                { "[\"x\",\"x\",[\"x\"]]", "[[\"x\"]]" },
                { "{\"x\":\"x\"}", "{\"x\":\"x\"}" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_json_text_ JsonText t = { 0 };
                _cleanup_json_edits_ JsonEdits e = { 0 };
                _cleanup_free_ char *error = NULL, *after = NULL;
                size_t n;

                assert_int_equal(json_text_parse(rows[i].before, strlen(rows[i].before), &t, &error), 0);
                assert_int_equal(json_edit_filter(&e, &t, t.root, drop_x), 0);
                assert_int_equal(json_edits_apply(&e, &t, &after, &n), 0);
                assert_string_equal(after, rows[i].after);
                assert_int_equal(n, strlen(after));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sound),
                cmocka_unit_test(test_broken),
                cmocka_unit_test(test_strings),
                cmocka_unit_test(test_filter),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
