/* SPDX-License-Identifier: MIT */

/* Whether a resolv.conf names a server. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "guest/resolver.h"

static void test_servers(void **state) {
        static const struct {
                const char *text;
                bool expected;
        } rows[] = {
                { "", false },
                { "\n\n", false },
                { "nameserver 192.0.2.1\n", true },
                { "nameserver\t2001:db8::1", true },
                { "search example.invalid\noptions edns0\nnameserver 192.0.2.1\n", true },
                { "search example.invalid\noptions edns0\n", false },
                { "# nameserver 192.0.2.1\n; nameserver 192.0.2.1\n", false },
                { "nameserver\n192.0.2.1\n", false },
                { "nameserver \n", false },
                { "nameserver", false },
                { "nameserver # none\n", false },
                { "nameservers 192.0.2.1\n", false },
                { " nameserver 192.0.2.1\n", false },
                { "xnameserver 192.0.2.1\nnameserver  192.0.2.1", true },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(resolver_has_server(rows[i].text), rows[i].expected);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_servers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
