/* SPDX-License-Identifier: MIT */

/* Which memory limit was reached. No memory controller is needed: a tree of files in the scratch directory stands in for the control
 * groups, with what the kernel (6.12) writes there. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "launch/memory-report.h"
#include "messages.h"
#include "scratch.h"

#define USER "/user.slice"
#define MANAGER USER "/user@1000.service"
#define ALL MANAGER "/claude.slice/claude-sandbox.slice"
#define PROFILE ALL "/claude-sandbox-my\\x2dteam.slice"
#define SCOPE PROFILE "/claude-sandbox-my-team-0123abcd.scope"

static const char *const levels[] = { SCOPE, PROFILE, ALL, MANAGER "/claude.slice", MANAGER, USER };

static void set_file(const char *cgroup, const char *name, const char *text) {
        char path[256];

        (void) snprintf(path, sizeof(path), "%s/%s", cgroup + 1, name);
        scratch_puts(path, text);
}

static void set_full(const char *cgroup, unsigned times) {
        char text[256];

        (void) snprintf(text, sizeof(text), "low 0\nhigh 3\nmax %u\noom %u\noom_kill 0\noom_group_kill 0\n", 10 * times, times);
        set_file(cgroup, "memory.events.local", text);
}

static void set_killed(unsigned n) {
        char text[256];

        (void) snprintf(text, sizeof(text), "low 0\nhigh 0\nmax 11\noom 4\noom_kill %u\noom_group_kill 9\n", n);
        set_file(SCOPE, "memory.events", text);
}

/* Nothing has happened, but to the groups above some time ago. */
static int reset(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(levels); i++) {
                set_full(levels[i], i > 0 ? 2 : 0);
                set_file(levels[i], "memory.max", "max\n");
        }
        set_killed(0);
        return 0;
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        for (size_t i = ELEMENTSOF(levels); i > 0; i--)
                (void) mkdir(in_scratch(levels[i - 1] + 1), 0700);

        return reset(state);
}

static void begin(MemoryWatch *w) {
        assert_int_equal(memory_watch_begin(w, scratch, SCOPE), 0);
}

static void assert_described(const MemoryWatch *w, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(memory_watch_describe(w, scratch, "my-team", &text), 0);
        if (expected)
                assert_string_equal(text, expected);
        else
                assert_null(text);
}

static void test_nothing(void **state) {
        _cleanup_memory_watch_ MemoryWatch w = { 0 };

        /* Never begun. */
        assert_described(&w, NULL);

        begin(&w);
        assert_described(&w, NULL);
        /* Full, but something else could be given up. */
        set_full(SCOPE, 3);
        assert_described(&w, NULL);
}

static void test_whose_limit(void **state) {
        static const struct {
                const char *full, *max;
                unsigned killed;
                const char *expected;
        } rows[] = {
                { SCOPE, "536870912\n", 1, "The sandbox ran out of memory and the kernel killed 1 of its processes: "
                                "this launch reached its MemoryMax=512M (more: -p MemoryMax=)." },
                { PROFILE, "4294967296\n", 3, "The sandbox ran out of memory and the kernel killed 3 of its processes: all launches of profile "
                                "my-team together reached MemoryMax=4G of claude-sandbox-my\\x2dteam.slice." },
                { ALL, "8192\n", 1, "The sandbox ran out of memory and the kernel killed 1 of its processes: "
                                "all sandboxes together reached MemoryMax=8K of claude-sandbox.slice." },
                { USER, "12288\n", 1, "The sandbox ran out of memory and the kernel killed 1 of its processes: "
                                "MemoryMax=12K of user.slice, in which this launch runs, was reached." },
                { NULL, "max\n", 2, "The sandbox ran out of memory and the kernel killed 2 of its processes: this machine has no more." },
                /* The limit is gone by now. */
                { SCOPE, "max\n", 1, "The sandbox ran out of memory and the kernel killed 1 of its processes: "
                                "this launch reached its MemoryMax= (more: -p MemoryMax=)." },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_memory_watch_ MemoryWatch w = { 0 };

                (void) reset(state);
                begin(&w);
                if (rows[i].full) {
                        set_full(rows[i].full, 3);
                        set_file(rows[i].full, "memory.max", rows[i].max);
                }
                set_killed(rows[i].killed);
                assert_described(&w, rows[i].expected);
        }
}

/* The nearest one counts, and what happened before does not. */
static void test_several(void **state) {
        _cleanup_memory_watch_ MemoryWatch w = { 0 };
        _cleanup_free_ char *text = NULL;

        begin(&w);
        set_killed(1);
        set_full(PROFILE, 3);
        set_full(USER, 17);
        assert_int_equal(memory_watch_describe(&w, scratch, "my-team", &text), 0);
        assert_contains(text, "all launches of profile my-team together");
}

/* No memory controller, or files that say something else. */
static void test_odd_files(void **state) {
        static const char *const odd[] = { "", "\n", "oom_kill\n", "oom_kill -1\n", "oom_kill x\n", "xoom_kill 3\n", "oom_kill_more 3\n",
                "oom_kill 99999999999999999999\n" };
        _cleanup_memory_watch_ MemoryWatch w = { 0 };

        begin(&w);
        for (size_t i = 0; i < ELEMENTSOF(odd); i++) {
                set_file(SCOPE, "memory.events", odd[i]);
                assert_described(&w, NULL);
        }

        for (size_t i = 0; i < ELEMENTSOF(levels); i++) {
                char path[256];

                (void) snprintf(path, sizeof(path), "%s/memory.events.local", levels[i] + 1);
                assert_int_equal(unlink(in_scratch(path)), 0);
        }
        set_killed(1);
        assert_described(&w, "The sandbox ran out of memory and the kernel killed 1 of its processes: this machine has no more.");
}

/* Deeper than is looked: no more than that is remembered. */
static void test_deep(void **state) {
        _cleanup_memory_watch_ MemoryWatch w = { 0 };
        _cleanup_free_ char *text = NULL;
        char deep[256] = "";

        for (int i = 0; i < 100; i++)
                (void) strcat(deep, "/a");
        assert_int_equal(memory_watch_begin(&w, scratch, deep), 0);
        assert_int_equal(memory_watch_describe(&w, scratch, "x", &text), 0);
        assert_null(text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_nothing, reset),
                cmocka_unit_test_setup(test_whose_limit, reset),
                cmocka_unit_test_setup(test_several, reset),
                cmocka_unit_test_setup(test_odd_files, reset),
                cmocka_unit_test_setup(test_deep, reset),
        };

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
