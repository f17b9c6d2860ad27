/* SPDX-License-Identifier: MIT */

/* What a launch says of its limits. How they reach the manager: test-launch-units.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "launch/launch-limits.h"
#include "messages.h"
#include "scratch.h"
#include "launch-stage.h"

static void test_origins(void **state) {
        static const struct {
                LimitId id;
                bool given;
                const char *origin;
        } rows[] = {
                { LIMIT_MEMORY_MAX, true, "-p" },
                { LIMIT_MEMORY_MAX, false, "the default" },
                { LIMIT_IO_WEIGHT, true, "-p" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                LaunchRequest request = stage.request;
                _cleanup_free_ char *origin = NULL;

                request.limits.items[rows[i].id].set = rows[i].given;
                origin = limit_describe_origin(&request, rows[i].id);
                assert_string_equal(origin, rows[i].origin);
        }
}

/* A limit below what the microVM was promised. */
static void test_ram(void **state) {
        static const struct {
                Isolation isolation;
                const char *max, *said;
        } rows[] = {
                { ISOLATION_KRUN, "4095M", "MemoryMax=4095M is less than the microVM's memory of 4096 MiB" },
                { ISOLATION_KRUN, "4G", NULL },
                { ISOLATION_KRUN, "50%", NULL },
                { ISOLATION_KRUN, "infinity", NULL },
                { ISOLATION_CONTAINER, "100M", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = NULL;

                stage.settings.isolation = rows[i].isolation;
                p = stage_plan();
                assert_int_equal(limit_parse(LIMIT_MEMORY_MAX, rows[i].max, &p->limits.items[LIMIT_MEMORY_MAX]), 0);
                messages_begin();
                limits_check(p, "/no/such/group");
                assert_said(messages_end(), rows[i].said);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_origins),
                cmocka_unit_test(test_ram),
        };

        return cmocka_run_group_tests(tests, stage_setup, stage_teardown);
}
