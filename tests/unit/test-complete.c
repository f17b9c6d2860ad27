/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/complete.h"
#include "scratch.h"

#define PROFILES "a.b-c_d work"
#define LIMITS "CPUQuota= CPUWeight= IOWeight= MemoryHigh= MemoryLow= MemoryMax= MemoryMin= MemorySwapMax= TasksMax="

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;

        scratch_mkdir(".claude-profiles");
        scratch_mkdir(".claude-profiles/work");
        scratch_mkdir(".claude-profiles/a.b-c_d");
        scratch_mkdir(".claude-profiles/a\x1b[31m");
        return setenv("HOME", scratch, 1) + unsetenv("XDG_CONFIG_HOME") + unsetenv("XDG_RUNTIME_DIR") +
               unsetenv("CLAUDE_PROFILE_PROFILES_BASE");
}

/* `words` separated by blanks, "''" an empty one; `expected` are the candidates without their descriptions. */
static void check(const char *words, const char *expected) {
        _cleanup_strv_ char **argv = NULL, **lines = NULL;
        char found[1024] = "", *q = found;

        assert_int_equal(strv_split(words, ' ', &argv), 0);
        STRV_FOREACH(s, argv)
                if (streq(*s, "''"))
                        (*s)[0] = '\0';

        assert_int_equal(complete(argv, &lines), 0);
        STRV_FOREACH(line, lines) {
                assert_null(strpbrk(*line, "\n\x1b"));
                q += sprintf(q, "%s%.*s", q > found ? " " : "", (int) strcspn(*line, "\t"), *line);
        }
        if (!streq(found, expected))
                fail_msg("'%s': '%s', not '%s'", words, found, expected);
}

static void test_words(void **state) {
        static const char *const rows[][2] = {
                /* the argument that its number or its option says */
                { "remove ''", PROFILES },
                { "remove wo", PROFILES },
                { "remove --yes wo", PROFILES },
                { "remove work ''", "" },
                { "add ''", "" },
                { "list ''", "" },
                { "stop ''", PROFILES },
                { "settings ''", PROFILES },
                { "links work ''", "commands skills hooks" },
                { "links --link work ''", "commands skills hooks" },
                { "links work x ''", "" },
                { "sandbox-skill --path ''", ":files" },
                { "env work --set ''", "" },
                { "env work --set A=1 --unset ''", "" },
                { "env --set A=1 ''", PROFILES },
                { "build --base ''", "fedora debian" },
                { "build --base=", "--base=fedora --base=debian" },
                { "build --base=x --", "--base --help" },
                { "build --base fedora ''", ":files" },
                /* options */
                { "-", "--help --version" },
                { "list -", "--json --help" },
                { "list --js", "--json --help" },
                { "list --json=", "--json --help" },
                { "list --nosuch ''", "" },
                { "remove --nosuch ''", PROFILES },
                { "remove -- -", PROFILES },
                /* where another program's arguments begin */
                { "build --no-cache --", ":files" },
                { "work ''", ":files" },
                { "work --resume", ":files" },
                { "run -", "--dry-run --property --json --help" },
                { "run -n ''", PROFILES },
                { "run -p ''", LIMITS },
                { "run -p MemoryMax=1G ''", PROFILES },
                { "run -p MemoryMax=1G -", "--dry-run --property --json --help" },
                { "run -n work -", ":files" },
                { "run work a b", ":files" },
                { "shell ''", PROFILES },
                { "shell work ''", "--" },
                { "shell work -- ''", ":programs" },
                { "shell work -- ls -", ":files" },
                { "-x ''", "" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                check(rows[i][0], rows[i][1]);
}

static void test_first_word(void **state) {
        static char *const none[] = { NULL };
        _cleanup_strv_ char **lines = NULL;

        assert_int_equal(complete(none, &lines), 0);
        assert_true(strv_contains(lines, "list\tShow all profiles, and where they run"));
        assert_true(strv_contains(lines, "a.b-c_d\tprofile"));
        assert_false(strv_contains(lines, COMPLETE_COMMAND));
}

/* A broken configuration costs the profiles only, and nothing is said. */
static void test_broken_settings(void **state) {
        assert_int_equal(setenv("CLAUDE_PROFILE_SANDBOX_CPUS", "x", 1), 0);
        check("remove ''", "");
        check("links work ''", "commands skills hooks");
        assert_int_equal(unsetenv("CLAUDE_PROFILE_SANDBOX_CPUS"), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words),
                cmocka_unit_test(test_first_word),
                cmocka_unit_test(test_broken_settings),
        };

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
