/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "basic/str.h"
#include "basic/strv.h"
#include "known-keys.h"
#include "shared/ssh-key.h"

#define LIT(s) SSH_BYTES(s, STRLEN(s))

static void test_fingerprints(void **state) {
        uint8_t buf[4096];

        for (size_t i = 0; i < ELEMENTSOF(known_keys); i++) {
                char fingerprint[SSH_FINGERPRINT_SIZE];

                ssh_key_fingerprint(known_key(&known_keys[i], buf, sizeof(buf)), fingerprint);
                assert_string_equal(fingerprint, known_keys[i].fingerprint);
        }
}

/* A certificate that is cut, in its key or before, is no certificate; and nothing is read past its end, which
 * valgrind and the sanitizers see. */
static void test_cut_keys(void **state) {
        uint8_t buf[4096];

        for (size_t i = 0; i < ELEMENTSOF(known_keys); i++) {
                SshBytes key = known_key(&known_keys[i], buf, sizeof(buf));

                for (size_t n = 0; n < key.n; n++) {
                        uint8_t *copy = n > 0 ? memcpy(test_malloc(n), key.p, n) : NULL;
                        char fingerprint[SSH_FINGERPRINT_SIZE];

                        ssh_key_fingerprint(SSH_BYTES(copy, n), fingerprint);
                        assert_int_equal(strlen(fingerprint), SSH_FINGERPRINT_SIZE - 1);
                        if (n < 40)
                                assert_string_not_equal(fingerprint, known_keys[i].fingerprint);
                        test_free(copy);
                }
        }
}

static void test_valid_selectors(void **state) {
        static const struct {
                const char *s;
                bool valid;
        } rows[] = {
                { "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY0", true },
                { "work*", true },
                { "me@example.org", true },
                { "sha256:x", true }, /* a comment */
                { "*", true },
                { "", false },
                { "SHA256:", false },
                { "SHA256:*", false },
                { "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY", false },
                { "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY0=", false },
                { "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY0 ", false },
                { "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw-pE3HGcpoMBIgY0", false },
                { "MD5:9a:0b", false },
                { "SHA1:abc", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (ssh_selector_is_valid(rows[i].s) != rows[i].valid)
                        fail_msg("%s", rows[i].s);
}

#define MINE "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY0"
#define OTHER "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY1"

static void test_selected(void **state) {
        static const struct {
                const char *selectors; /* NULL: none */
                SshBytes comment;
                bool selected;
        } rows[] = {
                { NULL, LIT("any"), true },
                { MINE, LIT("any"), true },
                { OTHER "," MINE, LIT(""), true },
                { OTHER, LIT("any"), false },
                { OTHER, LIT(MINE), false },
                { "work*", LIT("work laptop"), true },
                { "work*", LIT("at work"), false },
                { "*@example.org", LIT("me@example.org"), true },
                { "*@example.org", LIT("me@example.org.evil"), false },
                { "*/id_work", LIT("/home/me/.ssh/id_work"), true },
                { "work", LIT("WORK"), false },
                { "work", LIT("work "), false },
                { "[ab]?", LIT("b1"), true },
                { "a\\*", LIT("a*"), true },
                { "a\\*", LIT("ab"), false },
                { "x,y,work", LIT("work"), true },
                { "*", LIT(""), true },
                { "*", SSH_BYTES(NULL, 0), true },
                { "*", LIT("\xff\xfe not UTF-8"), true },
                { "work*", LIT("work\0home"), false }, /* not what it looks like */
                { "*", LIT("a\0b"), false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_strv_ char **v = NULL;

                if (rows[i].selectors)
                        assert_int_equal(strv_split(rows[i].selectors, ',', &v), 0);
                if (ssh_key_is_selected(v, MINE, &rows[i].comment) != rows[i].selected)
                        fail_msg("row %zu: %s", i, rows[i].selectors);

                /* A key that no agent has listed has no comment, not an empty one. */
                assert_int_equal(ssh_key_is_selected(v, MINE, NULL), !v || strv_contains(v, MINE));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fingerprints),
                cmocka_unit_test(test_cut_keys),
                cmocka_unit_test(test_valid_selectors),
                cmocka_unit_test(test_selected),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
