/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "basic/wire.h"
#include "guest/memory.h"
#include "messages.h"

static void test_parse(void **state) {
        static const struct {
                const char *text;
                int result;
                uint64_t kills;
        } rows[] = {
                { "nr_free_pages 12\noom_kill 3\nnuma_hit 4\n", 0, 3 },
                { "oom_kill 0", 0, 0 },
                { "xoom_kill 3\noom_kill 18446744073709551615\n", 0, UINT64_MAX },
                { "", -ENODATA, 0 },
                { "nr_free_pages 12\n", -ENODATA, 0 },
                { "oom_kill\n", -ENODATA, 0 },
                { "oom_kill \n", -ENODATA, 0 },
                { "oom_kill -1\n", -ENODATA, 0 },
                { "oom_kill 99999999999999999999\n", -ENODATA, 0 },
                { "oom_kill 000000000000000000000000000000000000000000000000000000001\n", -ENODATA, 0 },
                { "oom_kill_more 3\n", -ENODATA, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                uint64_t kills = 0;

                assert_int_equal(memory_parse_kills(rows[i].text, &kills), rows[i].result);
                assert_int_equal(kills, rows[i].kills);
        }
}

/* A count that has not grown is not told, nor one that may be another machine's. What has grown cannot be had here without killing. */
static void test_silent(void **state) {
        messages_begin();
        (void) unsetenv(GUEST_ENV_RAM);
        assert_int_equal(memory_kills(), 0);
        memory_tell(0);

        (void) setenv(GUEST_ENV_RAM, "512", 1);
        memory_tell(memory_kills());
        memory_tell(UINT64_MAX);
        assert_string_equal(messages_end(), "");
        (void) unsetenv(GUEST_ENV_RAM);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_parse),
                cmocka_unit_test(test_silent),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
