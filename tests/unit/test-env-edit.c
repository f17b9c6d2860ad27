/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/env-edit.h"
#include "shared/env-file.h"

typedef struct Case {
        const char *before;
        const char *set[4];
        const char *unset[4];
        const char *after;
} Case;

static const Case cases[] = {
        { "", { "A=1" }, { 0 }, "A=1\n" },
        { "", { 0 }, { "A" }, "" },
        { "A=1\nB=2\n", { "A=x" }, { 0 }, "A=x\nB=2\n" },
        { "A=1\nB=2", { "C=3" }, { 0 }, "A=1\nB=2\nC=3\n" },
        { "A=1\nB=2", { "B=3" }, { 0 }, "A=1\nB=3" },
        { "A=1\nB=2", { "C=3" }, { "B" }, "A=1\nC=3\n" },
        { "# c\n\nA=1 \n  odd line\nB=2\n", { "B=3" }, { 0 }, "# c\n\nA=1 \n  odd line\nB=3\n" },
        { "  export A = 1\nB=2\n", { "A=x" }, { 0 }, "  export A=x\nB=2\n" },
        { "A=1\nB=2\nA=3\n# A=4\n", { "A=x" }, { 0 }, "B=2\nA=x\n# A=4\n" },
        { "A=1\nB=2\nA=3\n# A=4\n", { 0 }, { "A" }, "B=2\n# A=4\n" },
        { "A='1'  # why\n", { "A=x" }, { 0 }, "A=\"x\"  # why\n" },
        { "A=\"1\" two\nB=2\n", { "A=x" }, { 0 }, "A=x\nB=2\n" },
        { "A=\"1\nB=2\n", { "A=x" }, { 0 }, "A=x\nB=2\n" },
        { "A=\"1\nB=2\n", { 0 }, { "A" }, "B=2\n" },
        { "\xef\xbb\xbf" "A=1\r\nB=2\r\n", { "A=x", "C=3" }, { 0 }, "\xef\xbb\xbf" "A=x\r\nB=2\r\nC=3\r\n" },
        { "A=1\r\nB=2\r", { "C=3" }, { 0 }, "A=1\r\nB=2\r\r\nC=3\r\n" },
        { "A=1\r", { "A=\"" }, { 0 }, "A=\"\\\"\"\r" },
        { "A=1\n\xef\xbb\xbf" "B=2\n", { 0 }, { "A" }, "\n\xef\xbb\xbf" "B=2\n" },
        { "AB=1\nA=2\n", { "A=x" }, { "AB" }, "A=x\n" },
        { "", { "A=1", "B=2", "A=3" }, { 0 }, "B=2\nA=3\n" },
        { "A=0\n", { "A=1", "A=2" }, { 0 }, "A=2\n" },
        { "", { "A=" }, { 0 }, "A=\n" },
        { "", { "A=x=y" }, { 0 }, "A=x=y\n" },

        /* What needs quotes. */
        { "", { "A= x" }, { 0 }, "A=\" x\"\n" },
        { "", { "A=x\t" }, { 0 }, "A=\"x\t\"\n" },
        { "", { "A=x\ny" }, { 0 }, "A=\"x\\ny\"\n" },
        { "", { "A='x" }, { 0 }, "A=\"'x\"\n" },
        { "", { "A=\"x\\" }, { 0 }, "A=\"\\\"x\\\\\"\n" },
        { "", { "A=x # y" }, { 0 }, "A=\"x # y\"\n" },
        { "", { "A=#x" }, { 0 }, "A=\"#x\"\n" },
        { "", { "A=x#y" }, { 0 }, "A=x#y\n" },
        { "", { "A=it's \"so\" \\n $HOME" }, { 0 }, "A=it's \"so\" \\n $HOME\n" },
};

static void test_cases(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(cases); i++) {
                const Case *c = &cases[i];
                _cleanup_free_ char *after = NULL;
                size_t n;
                int r;

                r = env_edit(c->before, strlen(c->before), (char *const *) c->set, (char *const *) c->unset,
                                &after, &n);
                assert_int_equal(r, 0);
                assert_int_equal(n, strlen(after));
                if (!streq(after, c->after))
                        fail_msg("case %zu: '%s', not '%s'", i, after, c->after);
        }
}

static void test_has(void **state) {
        static const char text[] = "\xef\xbb\xbf" "A=1\n# B=2\nexport C='\n";

        assert_true(env_text_has(text, strlen(text), "A"));
        assert_true(env_text_has(text, strlen(text), "C"));
        assert_false(env_text_has(text, strlen(text), "B"));
        assert_false(env_text_has(text, strlen(text), "export"));
        assert_false(env_text_has("", 0, "A"));
}

/* Whatever value is set, that is what a launch reads, without a remark. */
static void test_round_trip(void **state) {
        static const char alphabet[] = "ab\"'\\n#= \t\r\n$`{\x01\xc3\xa9";
        unsigned seed = 1;

        for (unsigned round = 0; round < 20000; round++) {
                _cleanup_strv_ char **env = NULL, **warnings = NULL;
                _cleanup_free_ char *text = NULL, *error = NULL;
                char entry[32] = "KEY=";
                char *set[] = { entry, NULL }, *unset[] = { NULL };
                size_t n, length = (size_t) rand_r(&seed) % 12;
                int r;

                for (size_t i = 0; i < length; i++)
                        entry[4 + i] = alphabet[(size_t) rand_r(&seed) % (sizeof(alphabet) - 1)];
                if (!utf8_is_valid(entry, strlen(entry)))
                        continue;

                assert_int_equal(env_edit("X=1", 3, set, unset, &text, &n), 0);
                r = env_parse(text, n, &env, &warnings, &error);
                if (r < 0)
                        fail_msg("'%s' is refused: %s", text, error);
                assert_int_equal(strv_length(env), 2);
                assert_string_equal(env[1], entry);
                if (warnings)
                        fail_msg("'%s': %s", text, warnings[0]);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cases),
                cmocka_unit_test(test_has),
                cmocka_unit_test(test_round_trip),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
