/* SPDX-License-Identifier: MIT */

/* Lines that a client sends to the supervisor. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "supervisor/request.h"

#define HOLD(id, directory) "{\"request\":\"hold\",\"id\":" id ",\"directory\":" directory "}"
#define DONE(status) "{\"request\":\"done\",\"status\":" status "}"

static int parse(const char *line, Request *ret) {
        return request_parse(line, strlen(line), ret);
}

static void test_good(void **state) {
        static const struct {
                const char *line;
                RequestKind kind;
                const char *directory;
                int status;
        } rows[] = {
                { HOLD("\"0123abcd\"", "\"/home/x\""), REQUEST_HOLD, "/home/x", 0 },
                { HOLD("\"0123abcd\"", "\"/\""), REQUEST_HOLD, "/", 0 },
                { HOLD("\"0123abcd\"", "\"/a\\n\\u001b\\\"\\\\b\""), REQUEST_HOLD, "/a\n\x1b\"\\b", 0 },
                { HOLD("\"0123abcd\"", "\"/grüß\""), REQUEST_HOLD, "/grüß", 0 },
                { DONE("0"), REQUEST_DONE, NULL, 0 },
                { DONE("255"), REQUEST_DONE, NULL, 255 },
                { DONE("137"), REQUEST_DONE, NULL, 137 },
                { "{\"request\":\"guard\"}", REQUEST_GUARD, NULL, 0 },
                { "{\"request\":\"start-gpg-agent\"}", REQUEST_START_GPG_AGENT, NULL, 0 },
                { "{ \"status\" : 7 , \"request\" : \"done\" }", REQUEST_DONE, NULL, 7 },
                /* A newer client's. */
                { "{\"request\":\"done\",\"status\":1,\"more\":[{}]}", REQUEST_DONE, NULL, 1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_request_ Request r = { 0 };

                if (parse(rows[i].line, &r) != 0)
                        fail_msg("refused: %s", rows[i].line);
                assert_int_equal(r.kind, rows[i].kind);
                assert_int_equal(r.status, rows[i].status);
                assert_int_equal(!r.directory, !rows[i].directory);
                if (rows[i].directory) {
                        assert_string_equal(r.directory, rows[i].directory);
                        assert_string_equal(r.id, "0123abcd");
                }
        }
}

#define OPEN(id, url) "{\"request\":\"open\",\"id\":" id ",\"url\":" url "}"
#define PASTE(id, arguments) "{\"request\":\"paste\",\"id\":" id ",\"arguments\":" arguments "}"

/* What is asked for is judged later. */
static void test_questions(void **state) {
        static const struct {
                const char *line;
                RequestKind kind;
                const char *text;
        } rows[] = {
                { OPEN("\"0123abcd\"", "\"https://clau.de/chrome\""), REQUEST_OPEN, "https://clau.de/chrome" },
                { OPEN("\"0123abcd\"", "\"\""), REQUEST_OPEN, "" },
                { OPEN("\"0123abcd\"", "\"a\\n\\u001b\""), REQUEST_OPEN, "a\n\x1b" },
                { PASTE("\"0123abcd\"", "\"--type image/png\""), REQUEST_PASTE, "--type image/png" },
                { PASTE("\"0123abcd\"", "\"\""), REQUEST_PASTE, "" },
        };
        static const char *const bad[] = {
                OPEN("\"0123ABCD\"", "\"x\""), OPEN("\"\"", "\"x\""), OPEN("\"../../xx\"", "\"x\""), OPEN("1", "\"x\""),
                OPEN("\"0123abcd\"", "1"), OPEN("\"0123abcd\"", "null"), OPEN("\"0123abcd\"", "[\"x\"]"),
                OPEN("\"0123abcd\"", "\"x\\u0000\""), PASTE("\"0123abcd\"", "\"\\u0000\""), PASTE("\"0123abcd\"", "{}"),
                "{\"request\":\"open\",\"id\":\"0123abcd\"}", "{\"request\":\"open\",\"url\":\"x\"}",
                "{\"request\":\"open\",\"id\":\"0123abcd\",\"arguments\":\"x\"}",
                "{\"request\":\"paste\",\"id\":\"0123abcd\",\"url\":\"x\"}",
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_request_ Request r = { 0 };

                if (parse(rows[i].line, &r) != 0)
                        fail_msg("refused: %s", rows[i].line);
                assert_int_equal(r.kind, rows[i].kind);
                assert_string_equal(r.id, "0123abcd");
                assert_string_equal(r.text, rows[i].text);
                assert_null(r.directory);
        }
        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                Request r = { .kind = 77 };

                if (parse(bad[i], &r) != -EBADMSG)
                        fail_msg("taken: %s", bad[i]);
                assert_int_equal(r.kind, 77);
        }
}

static void test_bad(void **state) {
        static const char *const rows[] = {
                "", " ", "x", "{", "}", "[]", "null", "1", "\"hold\"", "{}", "{\"request\":null}", "{\"request\":1}", "{\"request\":\"\"}",
                "{\"request\":\"Hold\"}", "{\"request\":\"hold\"}", "{\"request\":\"hold\\u0000\"}", "{\"request\":[\"hold\"]}",
                "{\"request\":\"stop\"}", "{\"Request\":\"start-gpg-agent\"}",
                HOLD("\"0123ABCD\"", "\"/x\""), HOLD("\"0123abc\"", "\"/x\""), HOLD("\"0123abcde\"", "\"/x\""), HOLD("\"0123abcg\"", "\"/x\""),
                HOLD("\"../../xx\"", "\"/x\""), HOLD("\"\"", "\"/x\""), HOLD("12345678", "\"/x\""), HOLD("\"0123abcd\\u0000\"", "\"/x\""),
                HOLD("null", "\"/x\""), HOLD("\"0123abcd\"", "\"x\""), HOLD("\"0123abcd\"", "\"\""), HOLD("\"0123abcd\"", "null"),
                HOLD("\"0123abcd\"", "1"), HOLD("\"0123abcd\"", "\"/a\\u0000b\""),
                "{\"request\":\"hold\",\"id\":\"0123abcd\"}", "{\"request\":\"hold\",\"directory\":\"/x\"}",
                "{\"request\":\"done\"}", DONE("-1"), DONE("256"), DONE("\"0\""), DONE("1.5"), DONE("null"), DONE("true"), DONE("4294967296"),
                DONE("99999999999999999999"), DONE("-4294967296"),
                DONE("1") "x", DONE("1") " " DONE("1"), DONE("1") "}", "x" DONE("1"),
                "{\"request\":\"start-gpg-agent\"", "{\"request\":{\"a\":{\"b\":{\"c\":{\"d\":1}}}}}",
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Request r = { .kind = 77 };

                if (parse(rows[i], &r) != -EBADMSG)
                        fail_msg("taken: %s", rows[i]);
                /* Set only on success. */
                assert_int_equal(r.kind, 77);
        }
}

static void test_nul(void **state) {
        static const char inside[] = "{\"request\":\"done\",\0\"status\":1}", behind[] = DONE("1") "\0";

        assert_int_equal(request_parse(inside, sizeof(inside) - 1, &(Request) { 0 }), -EBADMSG);
        assert_int_equal(request_parse(behind, sizeof(behind) - 1, &(Request) { 0 }), -EBADMSG);

        /* Nothing behind the length is read. */
        assert_int_equal(request_parse(DONE("12"), strlen(DONE("12")) - 2, &(Request) { 0 }), -EBADMSG);
}

/* The longest path there is, of characters that JSON escapes, fits. */
static void test_long(void **state) {
        _cleanup_free_ char *line = malloc(2 * REQUEST_MAX);
        _cleanup_request_ Request r = { 0 };
        char *q;

        assert_non_null(line);
        q = stpcpy(line, "{\"request\":\"hold\",\"id\":\"0123abcd\",\"directory\":\"/");
        for (unsigned i = 0; i < 4095; i++)
                q = stpcpy(q, "\\u0001");
        q = stpcpy(q, "\"}");
        assert_int_equal(parse(line, &r), 0);
        assert_int_equal(strlen(r.directory), 4096);

        memset(line, ' ', 2 * REQUEST_MAX);
        assert_int_equal(request_parse(line, REQUEST_MAX, &(Request) { 0 }), -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_good),
                cmocka_unit_test(test_questions),
                cmocka_unit_test(test_bad),
                cmocka_unit_test(test_nul),
                cmocka_unit_test(test_long),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
