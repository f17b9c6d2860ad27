/* SPDX-License-Identifier: MIT */

/* What the supervisor answers a bridge. The calls themselves are made in tests/integration/local/test-bridge.py. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/str.h"
#include "bridge/supervisor-call.h"

static void test_answers(void **state) {
        static const struct {
                const char *line;
                bool valid, ok;
                const char *reason;
        } rows[] = {
                { "{\"ok\":true}\n", true, true, "" },
                { "{\"ok\":false}\n", true, false, "" },
                { "{\"ok\":false,\"reason\":\"exit 1\"}\n", true, false, "exit 1" },
                { "{\"ok\":false,\"reason\":\"too large\"}\n", true, false, "too large" },
                { "{\"ok\":false,\"reason\":\"\"}\n", true, false, "" },
                { "{\"ok\":false,\"reason\":\"abcdefghijklmnopqrstuvwxyzabcde\"}\n", true, false,
                                "abcdefghijklmnopqrstuvwxyzabcde" },
                { "{\"ok\":false,\"reason\":\"abcdefghijklmnopqrstuvwxyzabcdef\"}\n", false, false, NULL },
                { "{\"ok\":false,\"reason\":\"a\\nb\"}\n", false, false, NULL },
                { "{\"ok\":false,\"reason\":\"a\nb\"}\n", false, false, NULL },
                { "{\"ok\":false,\"reason\":\"a\"}{\"}\n", false, false, NULL },
                { "{\"ok\":false,\"reason\":\"}\n", false, false, NULL },
                { "{\"ok\":true}", false, false, NULL },
                { "{\"ok\":true}\n\n", false, false, NULL },
                { "{\"ok\": true}\n", false, false, NULL },
                { "\n", false, false, NULL },
                { "", false, false, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                SupervisorAnswer a = { .ok = true };

                if (supervisor_answer_parse(rows[i].line, strlen(rows[i].line), &a) != rows[i].valid)
                        fail_msg("row %zu", i);
                assert_int_equal(a.ok, rows[i].ok);
                if (rows[i].valid)
                        assert_string_equal(a.reason, rows[i].reason);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_answers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
