/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shared/ssh-wire.h"

#define LIT(s) SSH_BYTES(s, STRLEN(s))

static void test_taking(void **state) {
        SshBytes b = LIT("\7\0\0\1\2\0\0\0\3abcrest"), s;
        uint32_t n;
        uint8_t byte;

        assert_true(ssh_take_byte(&b, &byte));
        assert_int_equal(byte, 7);
        assert_true(ssh_take_u32(&b, &n));
        assert_int_equal(n, 0x102);
        assert_true(ssh_take_string(&b, &s));
        assert_true(ssh_bytes_are(s, "abc"));
        assert_true(ssh_take_bytes(&b, 4, &s));
        assert_true(ssh_bytes_are(s, "rest"));
        assert_int_equal(b.n, 0);
        assert_false(ssh_take_byte(&b, &byte));
        assert_true(ssh_take_bytes(&b, 0, &s));
}

/* What is not all there is not taken at all. */
static void test_too_short(void **state) {
        static const struct {
                const char *data;
                size_t n;
        } rows[] = {
                { "", 0 },
                { "\0\0\0", 3 },
                { "\0\0\0\1", 4 },
                { "\0\0\0\4abc", 7 },
                { "\xff\xff\xff\xff" "abc", 7 },
                { "\x7f\xff\xff\xff" "abc", 7 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                SshBytes b = SSH_BYTES(rows[i].data, rows[i].n), s = LIT("untouched");

                assert_false(ssh_take_string(&b, &s));
                assert_ptr_equal(b.p, rows[i].data);
                assert_int_equal(b.n, rows[i].n);
        }
}

static void test_equal(void **state) {
        assert_true(ssh_bytes_equal(SSH_BYTES(NULL, 0), LIT("")));
        assert_true(ssh_bytes_equal(LIT("a\0b"), LIT("a\0b")));
        assert_false(ssh_bytes_equal(LIT("a\0b"), LIT("a\0c")));
        assert_false(ssh_bytes_are(LIT("query\0"), "query"));
        assert_false(ssh_bytes_are(LIT("quer"), "query"));
}

#define ONE "\0\0\0\4key1\0\0\0\2c1"
#define TWO "\0\0\0\4key2\0\0\0\0"

static void test_identities(void **state) {
        static const struct {
                const char *data;
                size_t n;
                unsigned keys; /* that are seen */
                bool ok;
        } rows[] = {
#define ROW(s) s, STRLEN(s)
                { ROW("\x0c\0\0\0\0"), 0, true },
                { ROW("\x0c\0\0\0\1" ONE), 1, true },
                { ROW("\x0c\0\0\0\2" ONE TWO), 2, true },
                { ROW("\x0c\0\0\0\1" ONE TWO), 1, false },     /* something behind it */
                { ROW("\x0c\0\0\0\3" ONE TWO), 2, false },     /* it breaks off */
                { ROW("\x0c\xff\xff\xff\xff" ONE TWO), 2, false },
                { ROW("\x0c\0\0\0\1\0\0\0\4key1"), 0, false }, /* no comment */
                { ROW("\x0c\0\0\0\1\0\0\0\4key1\0\0\0\3c1"), 0, false },
                { ROW("\x0c\0\0\0\1\xff\xff\xff\xffkey1"), 0, false },
                { ROW("\x0c\0\0\0"), 0, false },
                { ROW("\x0c"), 0, false },
                { ROW(""), 0, false },
                { ROW("\5"), 0, false },
                { ROW("\5\0\0\0\1" ONE), 0, false },
                { ROW("\x0b\0\0\0\0"), 0, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                SshIdentity identity;
                SshIdentities list;
                unsigned keys = 0;

                ssh_identities_begin(&list, SSH_BYTES(rows[i].data, rows[i].n));
                while (ssh_identities_next(&list, &identity)) {
                        assert_true(ssh_bytes_are(identity.key, keys == 0 ? "key1" : "key2"));
                        assert_true(ssh_bytes_are(identity.comment, keys == 0 ? "c1" : ""));
                        assert_true(ssh_bytes_equal(identity.whole, keys == 0 ? LIT(ONE) : LIT(TWO)));
                        keys++;
                }
                if (keys != rows[i].keys || list.ok != rows[i].ok)
                        fail_msg("row %zu: %u keys, %s", i, keys, list.ok ? "ok" : "not ok");
                assert_false(ssh_identities_next(&list, &identity));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_taking),
                cmocka_unit_test(test_too_short),
                cmocka_unit_test(test_equal),
                cmocka_unit_test(test_identities),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
