/* SPDX-License-Identifier: MIT */

/* The table of host-trusted things: what must hold for each row, and that docs/threat-model.md shows it as it is. When they
 * disagree: UPDATE_THREAT_MODEL=1 meson test -C build host-trusted */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "shared/host-trusted.h"

#define BEGIN "<!-- The table of src/shared/host-trusted.c begins; see tests/unit/test-host-trusted.c. -->\n"
#define END "<!-- The table ends. -->\n"

static void test_rows(void **state) {
        for (size_t i = 0; i < n_trusted_things; i++) {
                const TrustedThing *t = &trusted_things[i];
                _cleanup_free_ char *absolute = path_join("/", t->name);

                if (t->place >= _TRUST_PLACE_MAX || t->treatment >= _TRUST_TREATMENT_MAX || !path_is_normalized(absolute))
                        fail_msg("row %zu", i);
                if (str_is_empty(t->why) || strlen(t->why) > 76 || str_has_suffix(t->why, "."))
                        fail_msg("%s: \"%s\" is no reason for a line of 80 columns", t->name, t->why);
                /* What is thrown away as a whole is a directory; what may be changed is neither made nor cared for. */
                if ((t->treatment == TRUST_EMPTY && !t->directory) ||
                                (t->treatment == TRUST_REPORT && (t->link != TRUST_LINK_LEFT || t->created)))
                        fail_msg("%s", t->name);
                /* A missing file is what a launch may make, not a missing directory. */
                if (t->created && t->directory)
                        fail_msg("%s", t->name);

                for (size_t k = 0; k < i; k++)
                        if (t->place == trusted_things[k].place && streq(t->name, trusted_things[k].name))
                                fail_msg("%s stands there twice", t->name);
        }
}

static void test_tree_names(void **state) {
        static const struct {
                const char *name;
                bool found;
        } rows[] = {
                { ".git", true }, { ".claude", true }, { ".mcp.json", true }, { ".envrc", true }, { ".vscode", true }, { ".idea", true },
                { ".devcontainer", true }, { ".devcontainer.json", true }, { ".gitattributes", true }, { ".gitmodules", true },
                { ".husky", true }, { ".pre-commit-config.yaml", true },
                { "", false }, { ".", false }, { "..", false }, { "git", false }, { ".gi", false }, { ".gitx", false }, { ".gitignore", false },
                { ".claude.json", false }, { ".vscodium", false }, { ".envrc~", false }, { "tasks.json", false }, { ".Envrc", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (trust_tree_name(rows[i].name) != rows[i].found)
                        fail_msg("\"%s\"", rows[i].name);

        /* trust_tree_name() looks at the first character first. */
        for (size_t i = 0; i < n_trusted_things; i++)
                if (trusted_things[i].place == TRUST_TREE)
                        assert_int_equal(trusted_things[i].name[0], '.');
}

static char *format_table(void) {
        TrustPlace place = _TRUST_PLACE_MAX;
        char *text = NULL;
        size_t n = 0;
        FILE *f = open_memstream(&text, &n);

        assert_non_null(f);
        (void) fputs(BEGIN, f);
        for (size_t i = 0; i < n_trusted_things; i++) {
                const TrustedThing *t = &trusted_things[i];

                if (t->place != place) {
                        place = t->place;
                        (void) fprintf(f, "\n| %s | treatment | who obeys it |\n| --- | --- | --- |\n", trust_place_to_string(place));
                }
                (void) fprintf(f, "| `%s%s` | %s%s | %s |\n", t->name, t->directory ? "/" : "", trust_treatment_to_string(t->treatment),
                                t->created ? "; made when missing" : t->treatment == TRUST_REPORT ? "" : "; its creation reported",
                                t->why);
        }
        (void) fputs("\n" END, f);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void test_documented(void **state) {
        const char *path = getenv("THREAT_MODEL");
        _cleanup_free_ char *text = NULL, *table = format_table(), *whole = NULL;
        const char *begin, *end;

        assert_non_null(path);
        assert_int_equal(io_read_file_at(AT_FDCWD, path, MIB, &text, NULL), 0);
        begin = strstr(text, BEGIN);
        end = begin ? strstr(begin, END) : NULL;
        assert_non_null(end);
        end += STRLEN(END);
        if (strlen(table) == (size_t) (end - begin) && memcmp(table, begin, strlen(table)) == 0)
                return;

        if (!getenv("UPDATE_THREAT_MODEL"))
                fail_msg("%s shows another table; UPDATE_THREAT_MODEL=1 meson test -C build host-trusted puts it right", path);
        assert_true(asprintf_to(&whole, "%.*s%s%s", (int) (begin - text), text, table, end) >= 0);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(io_write_new_at(AT_FDCWD, path, 0644, whole, strlen(whole)), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_tree_names),
                cmocka_unit_test(test_documented),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
