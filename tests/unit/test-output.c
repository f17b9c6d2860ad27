/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "launch/output.h"

static void test_tail(void **state) {
        static const struct {
                const char *text;
                size_t width;
                const char *expected;
        } rows[] = {
                { "", 0, "" },
                { "abc", 3, "abc" },
                { "abcd", 3, "…cd" },
                { "abcd", 1, "…" },
                { "abcd", 0, "…" },
                { "äöü", 3, "äöü" },
                { "äöüß", 3, "…üß" },
                { "…a…b", 3, "……b" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *tail = text_tail(rows[i].text, rows[i].width);

                if (!streq(tail, rows[i].expected))
                        fail_msg("'%s' in %zu: '%s'", rows[i].text, rows[i].width, tail);
        }
}

/* What is printed meanwhile, in a file instead of standard output; without a terminal a line has 80 columns. */
static int begin(FILE **ret) {
        int saved = dup(STDOUT_FILENO);

        *ret = tmpfile();
        assert_non_null(*ret);
        assert_int_equal(fflush(stdout), 0);
        assert_return_code(dup2(fileno(*ret), STDOUT_FILENO), errno);
        return saved;
}

static void check_printed(FILE *f, int saved, const char *expected) {
        char text[1024];
        size_t n;

        assert_int_equal(fflush(stdout), 0);
        assert_return_code(dup2(saved, STDOUT_FILENO), errno);
        (void) close(saved);
        rewind(f);
        n = fread(text, 1, sizeof(text) - 1, f);
        text[n] = '\0';
        (void) fclose(f);
        assert_string_equal(text, expected);
}

static void test_wrapped(void **state) {
        FILE *f;
        int saved = begin(&f);

        output_wrapped("one", 0, 4);
        output_wrapped("word with many letters, which is followed by others, so that there is no room left and the rest goes below ", 10, 4);
        output_wrapped("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y", 0, 2);
        check_printed(f, saved, "oneword with many letters, which is followed by others, so that there is\n    no room left and the rest goes below"
                        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  y");
}

static void test_table(void **state) {
        static const TableColumn columns[] = {
                { .title = "NAME" },
                { .title = "SIZE", .right = true },
                { .title = "PLACE", .cut = true },
                {},
        };
        _cleanup_table_ Table t = { .columns = columns };
        TableRow *row;
        FILE *f;
        int saved;

        row = table_add(&t);
        row->cells[0] = strdup("größer");
        row->cells[1] = strdup("1");
        row->cells[2] = strdup("/a/long/path/that/does/not/fit/into/a/line/of/eighty/columns/so/its/beginning/is/cut");
        row = table_add(&t);
        row->cells[0] = strdup("b");
        row->cells[1] = strdup("12345");
        row->note = strdup("a note");

        saved = begin(&f);
        table_print(&t);
        check_printed(f, saved,
                        "NAME     SIZE  PLACE\n"
                        "größer      1  …es/not/fit/into/a/line/of/eighty/columns/so/its/beginning/is/cut\n"
                        "b       12345  -\n"
                        "        a note\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tail),
                cmocka_unit_test(test_wrapped),
                cmocka_unit_test(test_table),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
