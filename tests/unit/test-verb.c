/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/verb.h"

/* What the last call came to: options and arguments in order, "-yes" "name=value" "argument". */
static char seen[1024];

static int note(const Command *c) {
        char *q = seen;

        for (size_t i = 0; i < c->n_given; i++)
                q += sprintf(q, "%s%s%s ", c->given[i].option->argument ? "" : "-", c->given[i].option->name,
                                c->given[i].value ? "=" : "");
        for (size_t i = 0; i < c->n_given; i++)
                if (c->given[i].value)
                        q += sprintf(q, "'%s' ", c->given[i].value);
        STRV_FOREACH(s, c->args)
                q += sprintf(q, "[%s]", *s);

        return 0;
}

static const Option options[] = {
        { 'y', "yes", NULL, "" },
        { 'b', "base", "WHAT", "" },
        { 0, "set", "KEY=VALUE", "" },
        { 0 },
};

static void check(VerbFlags flags, const char *words, const char *expected) {
        const Verb verb = {
                .name = "verb",
                .arguments = "",
                .max = 5,
                .flags = flags,
                .options = options,
                .help = "",
                .run = note,
        };
        _cleanup_strv_ char **argv = NULL;
        int r;

        seen[0] = '\0';
        assert_int_equal(strv_split(words, ' ', &argv), 0);
        STRV_FOREACH(s, argv)
                if (streq(*s, "''"))
                        (*s)[0] = '\0';

        r = verb_call(&verb, argv, false);
        assert_int_equal(r, expected ? 0 : EXIT_USAGE);
        if (expected && !streq(seen, expected))
                fail_msg("'%s': '%s', not '%s'", words, seen, expected);
}

static void test_options_anywhere(void **state) {
        check(0, "", "");
        check(0, "a b", "[a][b]");
        check(0, "a --yes b -y", "-yes -yes [a][b]");
        check(0, "--base x --base=y", "base= base= 'x' 'y' ");
        check(0, "-b x --set=A=1", "base= set= 'x' 'A=1' ");
        check(0, "--base=", "base= '' ");
        check(0, "--set --yes", "set= '--yes' ");
        check(0, "--yes -- --yes -x", "-yes [--yes][-x]");
        check(0, "- a", "[-][a]");
        check(0, "'' a", "[][a]");
        check(0, "--no", NULL);
        check(0, "--yess", NULL);
        check(0, "--ye", NULL);
        check(0, "-yy", NULL);
        check(0, "-x", NULL);
        check(0, "--yes=1", NULL);
        check(0, "--base", NULL);
        check(0, "-b", NULL);
        check(0, "1 2 3 4 5 6", NULL);
}

static void test_options_first(void **state) {
        check(VERB_OPTIONS_FIRST, "--yes a --yes -x", "-yes [a][--yes][-x]");
        check(VERB_OPTIONS_FIRST, "--yes -- a --", "-yes [a][--]");
        check(VERB_OPTIONS_FIRST, "-x a", NULL);
}

static void test_foreign_options(void **state) {
        check(VERB_FOREIGN_OPTIONS, "--base x --no-cache --base y", "base= 'x' [--no-cache][--base][y]");
        check(VERB_FOREIGN_OPTIONS, "--no-cache --help", "[--no-cache][--help]");
        check(VERB_FOREIGN_OPTIONS, "a --base y", "[a][--base][y]");
        check(VERB_FOREIGN_OPTIONS, "--yes=1", NULL);
}

static void test_profile_names(void **state) {
        check(VERB_PROFILE, "good more", "[good][more]");
        check(VERB_PROFILE, "../bad", NULL);
        check(VERB_PROFILE, "--yes ''", NULL);
}

static int fail_late(const Command *c) {
        return -EIO;
}

static int give_status(const Command *c) {
        return 7;
}

static void test_statuses(void **state) {
        Verb verb = { .name = "verb", .arguments = "", .help = "", .run = fail_late };
        char *none[] = { NULL }, word[] = "x", *one[] = { word, NULL };

        assert_int_equal(verb_call(&verb, none, false), EXIT_FAILURE);
        verb.run = give_status;
        assert_int_equal(verb_call(&verb, none, false), 7);
        assert_int_equal(verb_call(&verb, one, false), EXIT_USAGE);
        verb.min = verb.max = 2;
        assert_int_equal(verb_call(&verb, one, false), EXIT_USAGE);
}

static void test_accessors(void **state) {
        GivenOption given[] = { { &options[1], "x" }, { &options[0], NULL }, { &options[1], "y" } };
        const Command c = { .given = given, .n_given = ELEMENTSOF(given) };
        _cleanup_strv_ char **v = NULL, **none = NULL;

        assert_true(command_has(&c, "yes"));
        assert_false(command_has(&c, "set"));
        assert_string_equal(command_value(&c, "base"), "y");
        assert_null(command_value(&c, "set"));
        assert_int_equal(command_values(&c, "base", &v), 0);
        assert_int_equal(strv_length(v), 2);
        assert_string_equal(v[0], "x");
        assert_int_equal(command_values(&c, "set", &none), 0);
        assert_null(none);
}

static int setup(void **state) {
        return setenv("HOME", "/nowhere", 1) + setenv("XDG_CONFIG_HOME", "/nowhere", 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_options_anywhere),
                cmocka_unit_test(test_options_first),
                cmocka_unit_test(test_foreign_options),
                cmocka_unit_test(test_profile_names),
                cmocka_unit_test(test_statuses),
                cmocka_unit_test(test_accessors),
        };

        return cmocka_run_group_tests(tests, setup, NULL);
}
