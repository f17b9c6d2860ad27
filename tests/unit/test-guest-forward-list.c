/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "guest/forward-list.h"

/* 108 bytes: one more than a socket address takes. */
#define LONG "/0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345"

static void test_parse(void **state) {
        _cleanup_forward_list_ ForwardList l = {};
        const Forward *f;

        assert_int_equal(forward_list_parse("/run/a.sock=ssh-1,/run/b=c=ssh-0, /x y/z=gpg", &l), 0);
        assert_int_equal(l.n, 3);
        assert_string_equal(l.items[0].path, "/run/a.sock");
        assert_int_equal(l.items[0].service.index, 1);
        assert_string_equal(l.items[1].path, "/run/b=c");
        assert_string_equal(l.items[2].path, "/x y/z");
        assert_int_equal(l.items[2].service.kind, SERVICE_GPG);

        f = forward_list_find(&l, SERVICE_SSH);
        assert_ptr_equal(f, &l.items[0]);
}

static void test_empty(void **state) {
        static const char *const none[] = { NULL, "", ",", " " };

        for (size_t i = 0; i < ELEMENTSOF(none); i++) {
                _cleanup_forward_list_ ForwardList l = {};

                assert_int_equal(forward_list_parse(none[i], &l), 0);
                assert_int_equal(l.n, 0);
                assert_null(forward_list_find(&l, SERVICE_GPG));
        }
}

static void test_refused(void **state) {
        static const char *const bad[] = {
                "/run/a",
                "/run/a=",
                "=gpg",
                "run/a=gpg",
                "/=gpg",
                "/run/=gpg",
                "/run/../a=gpg",
                "/run//a=gpg",
                "/run/a=nothing",
                "/run/a=ssh-8",
                "/run/a=gpg,/run/a=ssh-0",
                "/run/a=gpg,b",
                LONG "6=gpg",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_forward_list_ ForwardList l = {};

                assert_int_equal(forward_list_parse(bad[i], &l), -EBADMSG);
        }
}

static void test_limits(void **state) {
        _cleanup_forward_list_ ForwardList longest = {};
        char text[FORWARDS_MAX * 16 + 16] = "";

        assert_int_equal(forward_list_parse(LONG "=gpg", &longest), 0);
        assert_int_equal(strlen(longest.items[0].path), 107);

        for (int i = 0; i <= FORWARDS_MAX; i++) {
                _cleanup_forward_list_ ForwardList l = {};
                char item[16] = "/x=gpg,";

                item[1] = (char) ('a' + i);
                strcat(text, item);
                assert_int_equal(forward_list_parse(text, &l), i < FORWARDS_MAX ? 0 : -EBADMSG);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_limits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
