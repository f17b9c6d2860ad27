/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "shared/env-file.h"

/* A text; what it holds, one "KEY=VALUE" after the other; how the warnings begin; how the error begins. */
typedef struct Case {
        const char *id;
        const char *text;
        const char *env[12];
        const char *warnings[8];
        const char *error;
} Case;

static void check_strv(const Case *c, const char *what, char *const *got, const char *const *expected,
                bool whole) {
        size_t i = 0;

        for (; expected[i]; i++) {
                if (!got || !got[i])
                        fail_msg("%s: missing %s: %s", c->id, what, expected[i]);
                if (whole ? !streq(got[i], expected[i]) : !str_after_prefix(got[i], expected[i]))
                        fail_msg("%s: %s: '%s', not '%s'", c->id, what, got[i], expected[i]);
        }
        if (got && got[i])
                fail_msg("%s: %s too many: %s", c->id, what, got[i]);
}

static void check(const Case *c) {
        _cleanup_strv_ char **env = NULL, **warnings = NULL;
        _cleanup_free_ char *error = NULL;
        int r;

        r = env_parse(c->text, strlen(c->text), &env, &warnings, &error);
        if (c->error) {
                if (r != -EBADMSG)
                        fail_msg("%s: not refused", c->id);
                assert_null(env);
                assert_null(warnings);
                if (!error || !str_after_prefix(error, c->error))
                        fail_msg("%s: error '%s', not '%s'", c->id, error, c->error);
                return;
        }

        if (r < 0)
                fail_msg("%s: refused: %s", c->id, error);
        assert_non_null(env);
        check_strv(c, "variable", env, c->env, true);
        check_strv(c, "warning", warnings, c->warnings, false);
}

static const Case cases[] = {
        { .id = "empty", .text = "" },
        { .id = "blank", .text = "\n  \n\t\n# A=1\n  # B=2\n" },
        { .id = "no line end", .text = "A=1", .env = { "A=1" } },

        { .id = "E01", .text = "PW=ab#cd\nCOLOUR=#12ab9f\nNOTE=kept # dropped\nEMPTY=   # only a remark\n"
                               "QUOTED=\"x # y\"   # tail\n",
          .env = { "PW=ab#cd", "COLOUR=#12ab9f", "NOTE=kept # dropped", "EMPTY=# only a remark",
                   "QUOTED=x # y" },
          .warnings = { "line 3: NOTE: ", "line 4: EMPTY: " } },
        { .id = "E01 tab", .text = "A=x\t#y\nB=x #\nC= #\nD=x# y\nE=##\n",
          .env = { "A=x\t#y", "B=x #", "C=#", "D=x# y", "E=##" },
          .warnings = { "line 1: A: ", "line 2: B: ", "line 3: C: " } },
        { .id = "E01 after quotes", .text = "A='x'#y\nB=\"\" # y\nC='#'\n", .env = { "A=x", "B=", "C=#" } },

        { .id = "E02", .text = "\xef\xbb\xbf" "FIRST=1\r\nSECOND=\"two\"\r\n\r\n# r\r\nTHIRD=3\r\n",
          .env = { "FIRST=1", "SECOND=two", "THIRD=3" } },
        { .id = "E02 mark only", .text = "\xef\xbb\xbf" },
        { .id = "E02 no line end", .text = "A=1\r\nB=2\r", .env = { "A=1", "B=2" } },
        { .id = "E02 latin-1", .text = "A=1\nB=\xfc\n", .error = "line 2: not UTF-8" },
        { .id = "E02 mark inside", .text = "A=1\n\xef\xbb\xbf" "B=2\n", .env = { "A=1" },
          .warnings = { "line 2: no name" } },

        { .id = "E04", .text = "B='x'\nC=tail'\nD=\"{\\\"k\\\": 1}\"\nE=it's\nF='a\"b'\n",
          .env = { "B=x", "C=tail'", "D={\"k\": 1}", "E=it's", "F=a\"b" } },
        { .id = "E04 trailing", .text = "Z=0\nA=\"one\" two\nB='x'\n",
          .error = "line 2: A: only a comment" },
        { .id = "E04 trailing '", .text = "A='one'two\n", .error = "line 1: A: only a comment" },
        { .id = "E03 open", .text = "A=\"one\nB=two\"\n", .error = "line 1: A: the quote" },
        { .id = "E03 open '", .text = "A='\n", .error = "line 1: A: the quote" },
        { .id = "E03 escaped end", .text = "A=\"one\\\"\n", .error = "line 1: A: the quote" },
        { .id = "E03 lone backslash", .text = "A=\"\\", .error = "line 1: A: the quote" },
        { .id = "E04 escapes", .text = "A=\"a\\nb\\\\n\\t\\\\\"\nB='a\\nb\\'\nC=a\\nb\\\nD=\"\"\nE=''\n",
          .env = { "A=a\nb\\n\\t\\", "B=a\\nb\\", "C=a\\nb\\", "D=", "E=" } },
        { .id = "E04 blanks kept", .text = "A=\"  x  \"\nB=   x  y   \n", .env = { "A=  x  ", "B=x  y" } },

        { .id = "E05", .text = "P='pa$word'\nQ=\"pa$$w@\"\nR=a$HOME\nS=\"${HOME}/x\"\nT=`id`\nU=\"$(id)\"\n",
          .env = { "P=pa$word", "Q=pa$$w@", "R=a$HOME", "S=${HOME}/x", "T=`id`", "U=$(id)" } },

        { .id = "E07", .text = "export TOKEN=x\n  KEY2 = spaced\nKEY3=\n=noname\nulimit -n 2048\n1BAD=x\n"
                               "BAD-NAME=x\nKEY2=again\n",
          .env = { "TOKEN=x", "KEY2=again", "KEY3=" },
          .warnings = { "line 4: no name", "line 5: no assignment", "line 6: no name", "line 7: no name",
                        "line 8: KEY2: already set in line 2" } },
        { .id = "E06 export", .text = "export\tA = 1\nexport=2\nexport =3\nexport B\nexportC=4\n",
          .env = { "A=1", "export=3", "exportC=4" },
          .warnings = { "line 3: export: already set in line 2", "line 4: no assignment" } },
        { .id = "E06 thrice", .text = "A=1\nA=2\nA=3\n", .env = { "A=3" },
          .warnings = { "line 2: A: already set in line 1", "line 3: A: already set in line 2" } },

        { .id = "E08 hijack", .text = "LD_PRELOAD=/tmp/x.so\nPATH=/tmp/fakebin\nBASH_ENV=/tmp/x.sh\n",
          .env = { "LD_PRELOAD=/tmp/x.so", "PATH=/tmp/fakebin", "BASH_ENV=/tmp/x.sh" } },
        { .id = "E08 config", .text = "A=1\nCLAUDE_CONFIG_DIR=/tmp/other\n",
          .error = "line 2: CLAUDE_CONFIG_DIR: cannot" },
        { .id = "E08 sandbox", .text = "export CLAUDE_SANDBOX_X=guess\n",
          .error = "line 1: CLAUDE_SANDBOX_X: cannot" },
        { .id = "E08 near names", .text = "CLAUDE_CONFIG_DIRS=1\nCLAUDE_SANDBOX=1\nMY_CLAUDE_CONFIG_DIR=1\n",
          .env = { "CLAUDE_CONFIG_DIRS=1", "CLAUDE_SANDBOX=1", "MY_CLAUDE_CONFIG_DIR=1" } },
        { .id = "E08 profile", .text = "CLAUDE_PROFILE_SANDBOX=0\nA=1\n", .env = { "A=1" },
          .warnings = { "line 1: CLAUDE_PROFILE_SANDBOX: " } },
};

static void test_cases(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(cases); i++)
                check(&cases[i]);
}

/* No remark may show a value: each line here holds the word, all kinds of remarks are made. */
static void test_values_are_never_shown(void **state) {
        static const char *const texts[] = {
                "A=SECRET # SECRET\nA=SECRET #SECRET\nSECRET\n-SECRET=SECRET\nCLAUDE_PROFILE_X=SECRET\n",
                "A=\"SECRET\" SECRET\n", "A=\"SECRET\n", "CLAUDE_CONFIG_DIR=SECRET\n", "A=SECRET\xff\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                _cleanup_strv_ char **env = NULL, **warnings = NULL;
                _cleanup_free_ char *error = NULL;

                (void) env_parse(texts[i], strlen(texts[i]), &env, &warnings, &error);
                assert_true(error || strv_length(warnings) == 6);
                if (error)
                        assert_null(strstr(error, "SECRET"));
                STRV_FOREACH(w, warnings)
                        assert_null(strstr(*w, "SECRET"));
        }
}

/* E02: UTF-16, with and without a mark, and a NUL anywhere. */
static void test_binary_e02(void **state) {
        static const struct {
                const char *text;
                size_t n;
        } rows[] = {
                { "\xff\xfe" "A\0=\0" "1\0\n\0", 10 },
                { "\xfe\xff\0A\0=\0" "1\0\n", 10 },
                { "A\0=\0" "1\0\n\0", 8 },
                { "#\0 \0x\0\n\0", 8 },
                { "A=1\0" "2\n", 6 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_strv_ char **env = NULL, **warnings = NULL;
                _cleanup_free_ char *error = NULL;

                assert_int_equal(env_parse(rows[i].text, rows[i].n, &env, &warnings, &error), -EBADMSG);
                assert_non_null(strstr(error, "UTF-8"));
        }
}

/* An entry of exactly 131,072 bytes, its NUL included, is what execve() takes. */
static void test_entry_size(void **state) {
        for (size_t size = 131071; size <= 131073; size++) {
                _cleanup_strv_ char **env = NULL, **warnings = NULL;
                _cleanup_free_ char *error = NULL, *text = NULL;
                int r;

                text = malloc(size);
                assert_non_null(text);
                memset(text, 'x', size - 1);
                memcpy(text, "BIG=", 4);
                text[size - 1] = '\n';

                r = env_parse(text, size, &env, &warnings, &error);
                assert_int_equal(r, size > 131072 ? -EBADMSG : 0);
                if (r < 0) {
                        assert_non_null(strstr(error, "BIG"));
                        assert_non_null(strstr(error, "131073"));
                        assert_null(strstr(error, "xxx"));
                } else
                        assert_int_equal(strlen(env[0]), size - 1);
        }
}

/* Neither many variables nor many remarks take long. */
static void test_many(void **state) {
        _cleanup_strv_ char **env = NULL, **warnings = NULL;
        _cleanup_free_ char *error = NULL, *text = NULL;
        char *q;

        text = q = malloc(MIB);
        assert_non_null(text);
        for (unsigned i = 0; i < 4096; i++)
                q += sprintf(q, "V%u=%u\n", i, i);
        for (unsigned i = 0; i < 100000; i++)
                q += sprintf(q, "odd\n");

        assert_int_equal(env_parse(text, (size_t) (q - text), &env, &warnings, &error), 0);
        assert_int_equal(strv_length(env), 4096);
        assert_string_equal(env[4095], "V4095=4095");
        assert_int_equal(strv_length(warnings), 101);

        q += sprintf(q, "ONE_MORE=1\n");
        strv_free(env);
        strv_free(warnings);
        env = warnings = NULL;
        assert_int_equal(env_parse(text, (size_t) (q - text), &env, &warnings, &error), -EBADMSG);
        assert_non_null(strstr(error, "ONE_MORE"));
}

static void test_load(void **state) {
        static const struct {
                const char *directory;
                const char *error;
        } rows[] = {
                { "none", NULL },
                { "good", NULL },
                { "broken", "P: line 2: A: the quote" },
                { "link", "P: is a link" },
                { "dangling", "P: is a link" },
                { "fifo", "P: is not a regular file" },
                { "dir", "P: is not a regular file" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                scratch_mkdir(rows[i].directory);
        scratch_puts("good/.env", "A=1\nx\n");
        scratch_puts("broken/.env", "\nA='\n");
        scratch_puts("target", "A=1\n");
        assert_int_equal(symlink("../target", in_scratch("link/.env")), 0);
        assert_int_equal(symlink("nowhere", in_scratch("dangling/.env")), 0);
        assert_int_equal(mkfifo(in_scratch("fifo/.env"), 0600), 0);
        scratch_mkdir("dir/.env");

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_strv_ char **env = NULL, **warnings = NULL;
                _cleanup_free_ char *error = NULL;
                int fd, r;

                fd = open(in_scratch(rows[i].directory), O_PATH | O_CLOEXEC);
                assert_true(fd >= 0);
                r = env_file_load(fd, "P", &env, &warnings, &error);
                (void) close(fd);

                if (rows[i].error) {
                        assert_true(r < 0);
                        assert_null(env);
                        if (!str_after_prefix(error, rows[i].error))
                                fail_msg("%s: '%s'", rows[i].directory, error);
                        continue;
                }
                assert_int_equal(r, 0);
                assert_null(error);
                assert_int_equal(strv_length(env), i);
                if (i > 0)
                        assert_string_equal(warnings[0], "P: line 2: no assignment, left out");
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cases),
                cmocka_unit_test(test_values_are_never_shown),
                cmocka_unit_test(test_binary_e02),
                cmocka_unit_test(test_entry_size),
                cmocka_unit_test(test_many),
                cmocka_unit_test(test_load),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
