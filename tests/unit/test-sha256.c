/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "basic/parse.h"
#include "shared/sha256.h"

static const char *hex(Sha256 *h) {
        static char text[2 * SHA256_SIZE + 1];
        uint8_t sum[SHA256_SIZE];

        sha256_finish(h, sum);
        hex_encode(sum, sizeof(sum), text);
        return text;
}

static const char *sum(const void *p, size_t n) {
        Sha256 h;

        sha256_begin(&h);
        sha256_add(&h, p, n);
        return hex(&h);
}

/* NIST's examples, and the empty message of its validation suite. */
static void test_vectors(void **state) {
        static const struct {
                const char *message;
                const char *sum;
        } rows[] = {
                { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
                { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
                { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
                { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
                  "qrsmnopqrstnopqrstu",
                                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_string_equal(sum(rows[i].message, strlen(rows[i].message)), rows[i].sum);
}

static void test_a_million(void **state) {
        static const char as[] = "aaaaaaaaaa";
        Sha256 h;

        sha256_begin(&h);
        for (unsigned i = 0; i < 100000; i++)
                sha256_add(&h, as, STRLEN("aaaaaaaaaa"));
        assert_string_equal(hex(&h), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The sum does not depend on how the message is cut; and each length pads in its own way. */
static void test_cuts(void **state) {
        uint8_t message[3 * SHA256_BLOCK];
        char sums[ELEMENTSOF(message)][2 * SHA256_SIZE + 1];

        for (size_t n = 0; n < sizeof(message); n++)
                message[n] = (uint8_t) (n * 7);

        for (size_t n = 0; n < sizeof(message); n++) {
                (void) snprintf(sums[n], sizeof(sums[n]), "%s", sum(message, n));
                for (size_t k = 0; k < n; k++)
                        assert_string_not_equal(sums[n], sums[k]);

                for (size_t cut = 0; cut <= n; cut++) {
                        Sha256 h;

                        sha256_begin(&h);
                        sha256_add(&h, message, cut);
                        sha256_add(&h, message + cut, n - cut);
                        assert_string_equal(hex(&h), sums[n]);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_vectors),
                cmocka_unit_test(test_a_million),
                cmocka_unit_test(test_cuts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
