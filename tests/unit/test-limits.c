/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "shared/limits.h"

#define G (UINT64_C(1) << 30)

static void test_names(void **state) {
        for (LimitId id = 0; id < _LIMIT_MAX; id++) {
                const char *name = limit_name(id);

                assert_int_equal(limit_from_name(name, strlen(name)), id);
                assert_int_equal(limit_from_name(name, strlen(name) - 1), -EINVAL);
                assert_non_null(limit_controller(id));
                assert_non_null(limit_expectation(id));
        }

        assert_int_equal(limit_from_name("MemoryMax=1G", strlen("MemoryMax")), LIMIT_MEMORY_MAX);
        assert_int_equal(limit_from_name("", 0), -EINVAL);
        assert_int_equal(limit_from_name("memorymax", 9), -EINVAL);
        assert_string_equal(limit_controller(LIMIT_TASKS_MAX), "pids");
}

/* What systemd takes for each, what it means, and how it is written then. */
static void test_values(void **state) {
        static const struct {
                LimitId id;
                const char *text;
                bool relative;
                uint64_t value;
                const char *shown; /* NULL: as it was given */
        } rows[] = {
                { LIMIT_MEMORY_MAX, "512M", false, G / 2, NULL },
                { LIMIT_MEMORY_MAX, "1.5G", false, 3 * G / 2, "1536M" },
                { LIMIT_MEMORY_MAX, "4096M", false, 4 * G, "4G" },
                { LIMIT_MEMORY_MAX, "1T", false, 1024 * G, NULL },
                { LIMIT_MEMORY_MAX, "7", false, 7, NULL },
                { LIMIT_MEMORY_MAX, "7B", false, 7, "7" },
                { LIMIT_MEMORY_MAX, "1025K", false, 1025 * 1024, NULL },
                { LIMIT_MEMORY_MAX, "15E", false, 15 * 1024 * 1024 * (1024 * G), NULL },
                { LIMIT_MEMORY_MAX, "18446744073709551614", false, UINT64_MAX - 1, NULL },
                { LIMIT_MEMORY_MAX, "100%", true, 10000, NULL },
                { LIMIT_MEMORY_MAX, "0.01%", true, 1, NULL },
                { LIMIT_MEMORY_MAX, "12.5%", true, 1250, "12.50%" },
                { LIMIT_MEMORY_MAX, "infinity", false, LIMIT_INFINITY, NULL },
                { LIMIT_MEMORY_MAX, "", false, LIMIT_INFINITY, "infinity" },
                { LIMIT_MEMORY_HIGH, "1G", false, G, NULL },
                { LIMIT_MEMORY_SWAP_MAX, "0", false, 0, NULL },
                { LIMIT_MEMORY_MIN, "0", false, 0, NULL },
                { LIMIT_MEMORY_LOW, "50%", true, 5000, NULL },
                { LIMIT_TASKS_MAX, "1", false, 1, NULL },
                { LIMIT_TASKS_MAX, "4096", false, 4096, NULL },
                { LIMIT_TASKS_MAX, "10%", true, 1000, NULL },
                { LIMIT_TASKS_MAX, "infinity", false, LIMIT_INFINITY, NULL },
                { LIMIT_CPU_QUOTA, "150%", true, 15000, NULL },
                { LIMIT_CPU_QUOTA, "0.5%", true, 50, "0.50%" },
                { LIMIT_CPU_QUOTA, "1000000%", true, 100000000, NULL },
                { LIMIT_CPU_QUOTA, "", false, LIMIT_INFINITY, NULL },
                { LIMIT_CPU_WEIGHT, "1", false, 1, NULL },
                { LIMIT_CPU_WEIGHT, "10000", false, 10000, NULL },
                { LIMIT_CPU_WEIGHT, "idle", false, 0, NULL },
                { LIMIT_CPU_WEIGHT, "", false, LIMIT_INFINITY, NULL },
                { LIMIT_IO_WEIGHT, "100", false, 100, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char buf[LIMIT_TEXT_MAX];
                Limit limit = { 0 }, again = { 0 };

                if (limit_parse(rows[i].id, rows[i].text, &limit) != 0)
                        fail_msg("%s=%s", limit_name(rows[i].id), rows[i].text);
                assert_true(limit.set);
                assert_int_equal(limit.relative, rows[i].relative);
                assert_int_equal(limit.value, rows[i].value);
                assert_string_equal(limit_format(rows[i].id, &limit, buf), rows[i].shown ?: rows[i].text);

                assert_int_equal(limit_parse(rows[i].id, buf, &again), 0);
                assert_true(again.value == limit.value && again.relative == limit.relative);
        }
}

static void test_refusals(void **state) {
        static const struct {
                LimitId id;
                const char *text;
        } rows[] = {
                { LIMIT_MEMORY_MAX, "0" },        { LIMIT_MEMORY_MAX, "0%" },       { LIMIT_MEMORY_MAX, "100.01%" },
                { LIMIT_MEMORY_MAX, "12.345%" },  { LIMIT_MEMORY_MAX, "-1" },       { LIMIT_MEMORY_MAX, "16E" },
                { LIMIT_MEMORY_MAX, "4GB" },      { LIMIT_MEMORY_MAX, "4 G" },      { LIMIT_MEMORY_MAX, "4g" },
                { LIMIT_MEMORY_MAX, " 4G" },      { LIMIT_MEMORY_MAX, "4G " },      { LIMIT_MEMORY_MAX, "max" },
                { LIMIT_MEMORY_MAX, "Infinity" }, { LIMIT_MEMORY_MAX, "4G\n" },     { LIMIT_MEMORY_MAX, "%" },
                { LIMIT_MEMORY_MAX, "18446744073709551615" },                       { LIMIT_MEMORY_MAX, "idle" },
                { LIMIT_TASKS_MAX, "0" },         { LIMIT_TASKS_MAX, "4K" },        { LIMIT_TASKS_MAX, "110%" },
                { LIMIT_CPU_QUOTA, "150" },       { LIMIT_CPU_QUOTA, "0%" },        { LIMIT_CPU_QUOTA, "1000000.01%" },
                { LIMIT_CPU_QUOTA, "infinity" },  { LIMIT_CPU_QUOTA, "184467440737095517%" },
                { LIMIT_CPU_WEIGHT, "0" },        { LIMIT_CPU_WEIGHT, "10001" },    { LIMIT_CPU_WEIGHT, "Idle" },
                { LIMIT_IO_WEIGHT, "idle" },      { LIMIT_IO_WEIGHT, "0" },         { LIMIT_IO_WEIGHT, "50%" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                Limit limit = { .value = 4711 };

                if (limit_parse(rows[i].id, rows[i].text, &limit) != -EINVAL)
                        fail_msg("%s=%s", limit_name(rows[i].id), rows[i].text);
                assert_true(!limit.set && limit.value == 4711);
        }
}

static void test_override(void **state) {
        Limits limits = { 0 }, over = { 0 };

        assert_true(limits_are_none(&limits));
        limits.items[LIMIT_MEMORY_MAX] = (Limit) { .set = true, .value = 1 };
        limits.items[LIMIT_TASKS_MAX] = (Limit) { .set = true, .value = 2 };
        over.items[LIMIT_TASKS_MAX] = (Limit) { .set = true, .value = LIMIT_INFINITY };
        over.items[LIMIT_CPU_QUOTA] = (Limit) { .set = true, .relative = true, .value = 3 };
        limits_override(&limits, &over);

        assert_false(limits_are_none(&limits));
        assert_int_equal(limits.items[LIMIT_MEMORY_MAX].value, 1);
        assert_int_equal(limits.items[LIMIT_TASKS_MAX].value, LIMIT_INFINITY);
        assert_int_equal(limits.items[LIMIT_CPU_QUOTA].value, 3);
        assert_false(limits.items[LIMIT_CPU_WEIGHT].set);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_override),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
