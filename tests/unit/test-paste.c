/* SPDX-License-Identifier: MIT */

/* What a guest may ask of the clipboard. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/paste.h"

#define PARAMETERS "text/plain;charset=utf-8"

static void test_allowed(void **state) {
        static const struct {
                const char *line;
                const char *formatted;
                const char *wl_paste; /* command lines, with blanks between */
                const char *xclip;
        } rows[] = {
                { "", "", "p", "p -selection clipboard -o -t UTF8_STRING" },
                { "   ", "", "p", "p -selection clipboard -o -t UTF8_STRING" },
                { "-l", "--list-types", "p --list-types", "p -selection clipboard -o -t TARGETS" },
                { "--list-types", "--list-types", "p --list-types", "p -selection clipboard -o -t TARGETS" },
                { "-n", "--no-newline", "p --no-newline", "p -selection clipboard -o -t UTF8_STRING" },
                { "--no-newline", "--no-newline", "p --no-newline",
                                "p -selection clipboard -o -t UTF8_STRING" },
                { "-t image/png", "--type image/png", "p --type image/png",
                                "p -selection clipboard -o -t image/png" },
                { "  --type   image/svg+xml ", "--type image/svg+xml", "p --type image/svg+xml",
                                "p -selection clipboard -o -t image/svg+xml" },
                { "-t text/plain", "--type text/plain", "p --type text/plain",
                                "p -selection clipboard -o -t UTF8_STRING" },
                { "-t " PARAMETERS, "--type " PARAMETERS, "p --type " PARAMETERS,
                                "p -selection clipboard -o -t UTF8_STRING" },
                { "-t text/html -n", "--no-newline --type text/html", "p --no-newline --type text/html",
                                "p -selection clipboard -o -t text/html" },
                { "-t image/png -t text/html", "--type text/html", "p --type text/html",
                                "p -selection clipboard -o -t text/html" },
                { "-l -n -l", "--list-types --no-newline", "p --list-types --no-newline",
                                "p -selection clipboard -o -t TARGETS" },
                { "-t image/x-win-bitmap", "--type image/x-win-bitmap", "p --type image/x-win-bitmap",
                                "p -selection clipboard -o -t image/x-win-bitmap" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                for (PasteProgram program = 0; program < _PASTE_PROGRAM_MAX; program++) {
                        const char *expected = program == PASTE_WL_PASTE ? rows[i].wl_paste : rows[i].xclip;
                        _cleanup_strv_ char **argv = NULL, **wanted = NULL;
                        PasteRequest request, again;
                        char buf[PASTE_LINE_MAX];

                        if (paste_request_parse(rows[i].line, strlen(rows[i].line), &request) < 0)
                                fail_msg("refused: %s", rows[i].line);
                        assert_string_equal(paste_request_format(&request, buf), rows[i].formatted);
                        assert_int_equal(paste_request_parse(buf, strlen(buf), &again), 0);
                        assert_memory_equal(&request, &again, sizeof(request));

                        assert_int_equal(paste_argv(&request, program, "p", &argv), 0);
                        assert_int_equal(strv_split(expected, ' ', &wanted), 0);
                        assert_int_equal(strv_length(argv), strv_length(wanted));
                        for (size_t k = 0; argv[k]; k++)
                                assert_string_equal(argv[k], wanted[k]);
                }
        }
}

/* Between guest and bridge; the supervisor does not hear of it. */
static void test_with_length(void **state) {
        PasteRequest request;
        char buf[PASTE_LINE_MAX];

        assert_int_equal(paste_request_parse("-l --with-length", 16, &request), 0);
        assert_true(request.list && request.with_length);
        assert_string_equal(paste_request_format(&request, buf), "--list-types");
        assert_int_equal(paste_request_parse("--with-lengths", 14, &request), -EPERM);
}

static void test_refused(void **state) {
        static const struct {
                const char *line;
                size_t n; /* 0: up to the NUL */
        } rows[] = {
                { .line = "-w" },
                { .line = "--watch" },
                { .line = "--watch sh -c id" },
                { .line = "-w sh" },
                { .line = "-l --watch id" },
                { .line = "-p" },
                { .line = "--primary" },
                { .line = "-s seat0" },
                { .line = "--seat seat0" },
                { .line = "-v" },
                { .line = "--version" },
                { .line = "--help" },
                { .line = "-ln" },
                { .line = "-nw id" },
                { .line = "-L" },
                { .line = "--list" },
                { .line = "--list-types=x" },
                { .line = "-tX" },
                { .line = "-timage/png" },
                { .line = "--type=image/png" },
                { .line = "--" },
                { .line = "-" },
                { .line = "-- -w id" },
                { .line = "image/png" },
                { .line = "x" },
                { .line = "-t" },
                { .line = "--type" },
                { .line = "-t -l" },
                { .line = "-t --watch" },
                { .line = "-t image" },
                { .line = "-t image/" },
                { .line = "-t text/" },
                { .line = "-t image/-x" },
                { .line = "-t image//png" },
                { .line = "-t image/../../etc/passwd" },
                { .line = "-t text/plain/x" },
                { .line = "-t application/pdf" },
                { .line = "-t application/x-kde-passwordManagerHint" },
                { .line = "-t x-special/gnome-copied-files" },
                { .line = "-t UTF8_STRING" },
                { .line = "-t TARGETS" },
                { .line = "-t TEXT" },
                { .line = "-t IMAGE/PNG" },
                { .line = "-t ximage/png" },
                { .line = "-t text/plain,image/png" },
                { .line = "-t text/$(id)" },
                { .line = "-t text/`id`" },
                { .line = "-t text/a\"b" },
                { .line = "-t text/a'b" },
                { .line = "-t text/a\\b" },
                { .line = "-t text/a*" },
                { .line = "-t text/a%s" },
                { .line = "-t text/a:b" },
                { .line = "-t text/pl\xc3\xa4in" },
                { .line = "-t\timage/png" },
                { .line = "\t-l" },
                { .line = "-l\r" },
                { .line = "-l\n" },
                { .line = "-l\n--watch id" },
                { .line = "-t image/png\n" },
                { .line = "-t image/png\0", .n = 13 },
                { .line = "-t image/p\0ng", .n = 13 },
                { .line = "-l\0", .n = 3 },
                { .line = "\0-l", .n = 3 },
                { .line = "\0", .n = 1 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                size_t n = rows[i].n ?: strlen(rows[i].line);
                _cleanup_free_ char *exact = malloc(n ?: 1);
                PasteRequest request;

                assert_non_null(exact);
                memcpy(exact, rows[i].line, n);
                if (paste_request_parse(exact, n, &request) != -EPERM)
                        fail_msg("row %zu let through: %s", i, rows[i].line);
        }
}

static void test_lengths(void **state) {
        char line[PASTE_LINE_MAX + 1], buf[PASTE_LINE_MAX];
        PasteRequest request;
        size_t type = PASTE_TYPE_MAX - 1;

        memset(line, 'a', sizeof(line));
        memcpy(line, "-t image/", 9);
        assert_int_equal(paste_request_parse(line, 3 + type, &request), 0);
        assert_int_equal(strlen(request.type), type);
        request.list = request.no_newline = true;
        assert_true(strlen(paste_request_format(&request, buf)) < sizeof(buf));
        assert_int_equal(paste_request_parse(line, 3 + type + 1, &request), -EPERM);

        memset(line, ' ', sizeof(line));
        assert_int_equal(paste_request_parse(line, PASTE_LINE_MAX, &request), 0);
        assert_int_equal(paste_request_parse(line, PASTE_LINE_MAX + 1, &request), -EPERM);
}

/* C03: the type that was asked for and what comes must agree. */
static void test_answers(void **state) {
        static const struct {
                const char *line;
                const char *answer;
                size_t n;
                bool fits;
        } rows[] = {
                { "-t image/png", "\x89PNG\r\n\x1a\n....", 12, true },
                { "-t image/png", "\x89PNG\r\n\x1a\n", 8, true },
                { "-t image/png", "\x89PNG\r\n\x1a", 7, false },
                { "-t image/png", "hello", 5, false },
                { "-t image/png", "", 0, false },
                { "-t image/jpeg", "\xff\xd8\xff\xe0", 4, true },
                { "-t image/jpeg", "\x89PNG\r\n\x1a\n", 8, false },
                { "-t image/gif", "GIF89a", 6, true },
                { "-t image/gif", "GIF88a", 6, false },
                { "-t image/webp", "RIFF\1\2\3\4WEBPVP8 ", 16, true },
                { "-t image/webp", "RIFF\1\2\3\4WAVEfmt ", 16, false },
                { "-t image/webp", "RIFF\1\2\3\4WEB", 11, false },
                { "-t image/bmp", "BM", 2, true },
                { "-t image/tiff", "II*\0", 4, true },
                { "-t image/tiff", "MM\0*", 4, true },
                { "-t image/tiff", "MM", 2, false },
                { "-t image/svg+xml", "<svg/>", 6, true },
                { "-t text/plain", "", 0, true },
                { "-t text/plain", "\x89PNG", 4, true },
                { "", "hello", 5, true },
                { "-l", "image/png\n", 10, true },
                { "-l -t image/png", "image/png\n", 10, true },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                PasteRequest request;

                assert_int_equal(paste_request_parse(rows[i].line, strlen(rows[i].line), &request), 0);
                if (paste_answer_fits(&request, rows[i].answer, rows[i].n) != rows[i].fits)
                        fail_msg("row %zu", i);
        }
}

static void test_targets(void **state) {
        static const struct {
                const char *targets, *types;
        } rows[] = {
                { "", "" },
                { "TARGETS\nTIMESTAMP\nMULTIPLE\n", "" },
                { "TARGETS\nUTF8_STRING\n", PARAMETERS "\n" },
                { "TARGETS\nimage/png\nimage/bmp\n", "image/png\nimage/bmp\n" },
                { "UTF8_STRING\nSTRING\nTEXT\ntext/plain\n" PARAMETERS "\n", PARAMETERS "\ntext/plain\n" },
                { "text/html", "text/html\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *types = NULL;

                assert_int_equal(paste_targets_to_types(rows[i].targets, &types), 0);
                assert_string_equal(types, rows[i].types);
        }
}

static void test_programs(void **state) {
        for (PasteProgram p = 0; p < _PASTE_PROGRAM_MAX; p++)
                assert_int_equal(paste_program_from_string(paste_program_to_string(p)), p);
        assert_int_equal(paste_program_from_string("sh"), _PASTE_PROGRAM_INVALID);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_allowed),
                cmocka_unit_test(test_with_length),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_lengths),
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_targets),
                cmocka_unit_test(test_programs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
