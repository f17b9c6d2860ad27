/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "guest/bridge.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GOOD "address=169.254.1.2\nport=4711\ntoken=" TOKEN "\nservices=ssh-0,gpg\n"

static void test_parse(void **state) {
        static const char *const good[] = {
                GOOD,
                "services=\ntoken=" TOKEN "\nport=4711\naddress=169.254.1.2\n",
                "address=169.254.1.2\nport=4711\ntoken=" TOKEN "\nservices=x", /* no newline at the end */
        };

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                Bridge b = {};

                assert_int_equal(bridge_parse(good[i], strlen(good[i]), &b), 0);
                assert_int_equal(b.address.sin_family, AF_INET);
                assert_int_equal(ntohs(b.address.sin_port), 4711);
                assert_int_equal(ntohl(b.address.sin_addr.s_addr), 0xa9fe0102);
                assert_string_equal(b.token, TOKEN);
        }
}

static void test_refused(void **state) {
        static const char *const bad[] = {
                "",
                "\n",
                "address=169.254.1.2\nport=4711\ntoken=" TOKEN "\n",
                GOOD "\n",
                GOOD "port=4711\n",
                GOOD "other=1\n",
                "Address=169.254.1.2\nport=4711\ntoken=" TOKEN "\nservices=\n",
                "address=localhost\nport=4711\ntoken=" TOKEN "\nservices=\n",
                "address=169.254.1\nport=4711\ntoken=" TOKEN "\nservices=\n",
                "address=::1\nport=4711\ntoken=" TOKEN "\nservices=\n",
                "address= 169.254.1.2\nport=4711\ntoken=" TOKEN "\nservices=\n",
                "address=169.254.1.2\nport=0\ntoken=" TOKEN "\nservices=\n",
                "address=169.254.1.2\nport=65536\ntoken=" TOKEN "\nservices=\n",
                "address=169.254.1.2\nport=4711 \ntoken=" TOKEN "\nservices=\n",
                "address=169.254.1.2\nport=4711\ntoken=" TOKEN "0\nservices=\n",
                "address=169.254.1.2\nport=4711\ntoken=" TOKEN "\r\nservices=\n",
                "address=169.254.1.2\nport=4711\ntoken=ABCD\nservices=\n",
                "address=169.254.1.2\nport=4711\ntoken=\nservices=\n",
        };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                Bridge b = { .token = "kept" };

                assert_int_equal(bridge_parse(bad[i], strlen(bad[i]), &b), -EBADMSG);
                assert_string_equal(b.token, "kept");
        }

        /* A NUL would hide what is behind it. */
        assert_int_equal(bridge_parse(GOOD "\0x", sizeof(GOOD) + 1, &(Bridge) {}), -EBADMSG);
}

static void test_handshake(void **state) {
        Bridge b = { .token = TOKEN };
        char buf[WIRE_LINE_MAX];

        assert_int_equal(bridge_format_handshake(&b, "ssh-0", buf), WIRE_TOKEN_LENGTH + 7);
        assert_string_equal(buf, TOKEN " ssh-0\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_handshake),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
