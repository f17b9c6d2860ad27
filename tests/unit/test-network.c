/* SPDX-License-Identifier: MIT */

/* How far a sandbox's addresses reach, from what the kernel prints of them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "launch/network.h"

#define LOOPBACK \
        "Main:\n  +-- 127.0.0.0/8 2 0 2\n     +-- 127.0.0.0/31 1 0 0\n        |-- 127.0.0.0\n           /8 host LOCAL\n" \
        "        |-- 127.0.0.1\n           /32 host LOCAL\n     |-- 127.255.255.255\n        /32 link BROADCAST\n"

static void test_ipv4(void **state) {
        static const struct {
                const char *text;
                NetworkReach expected;
        } rows[] = {
                { "", NETWORK_NONE },
                { "\n\n", NETWORK_NONE },
                { LOOPBACK, NETWORK_NONE },
                { LOOPBACK "     |-- 10.0.2.15\n        /32 host LOCAL\n", NETWORK_GLOBAL },
                { LOOPBACK "     |-- 10.0.2.15\n        /32 host LOCAL", NETWORK_GLOBAL },
                { LOOPBACK "     |-- 169.254.2.1\n        /32 host LOCAL\n", NETWORK_LINK_LOCAL },
                { "     |-- 169.254.2.1\n        /32 host LOCAL\n     |-- 1.2.3.4\n        /32 host LOCAL\n", NETWORK_GLOBAL },
                { "     |-- 1.2.3.4\n        /32 host LOCAL\n     |-- 169.254.2.1\n        /32 host LOCAL\n", NETWORK_GLOBAL },
                /* A route is no address. */
                { LOOPBACK "     |-- 0.0.0.0\n        /0 universe UNICAST\n     |-- 10.0.2.255\n        /32 link BROADCAST\n", NETWORK_NONE },
                { "        /32 host LOCAL\n", NETWORK_GLOBAL }, /* of an address that is not shown: not the loopback's */
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(network_reach_ipv4(rows[i].text), rows[i].expected);
}

static void test_ipv6(void **state) {
        static const char lo[] = "00000000000000000000000000000001 01 80 10 80       lo\n";
        static const struct {
                const char *text;
                NetworkReach expected;
        } rows[] = {
                { "", NETWORK_NONE },
                { lo, NETWORK_NONE },
                { "fe80000000000000a8bbccfffeddeeff 02 40 20 80     eth0\n", NETWORK_LINK_LOCAL },
                { "fd0000000000000000000000000000aa 02 40 00 80     eth0\n", NETWORK_GLOBAL },
                { "20010db8000000000000000000000001 1f 40 00 80     eth0", NETWORK_GLOBAL },
                { "20010db8000000000000000000000001 1f 40 00 80 e\nfe80000000000000a8bbccfffeddeeff 02 40 20 80 e\n", NETWORK_GLOBAL },
                { "nonsense\n\n 1 2 3\n", NETWORK_NONE },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(network_reach_ipv6(rows[i].text), rows[i].expected);
}

static void test_process_that_is_gone(void **state) {
        _cleanup_free_ char *why = NULL;

        assert_true(network_check(INT32_MAX, &why) < 0);
        assert_null(why);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ipv4),
                cmocka_unit_test(test_ipv6),
                cmocka_unit_test(test_process_that_is_gone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
