/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/fd.h"
#include "scratch.h"
#include "shared/guard-list.h"

static void test_there_and_back(void **state) {
        static const Guard guards[] = {
                { (char *) "/w/.git", (char *) "/w/.git", (char *) "/w/.git", false, true },
                { (char *) "/p/a\"\n\x1b", (char *) "/run/x/guard-1", (char *) "/home/appuser/.claude/a\"\n\x1b", true, false },
        };
        _cleanup_guard_list_ GuardList l = { 0 }, back = { 0 };
        _cleanup_close_ int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        for (size_t i = 0; i < ELEMENTSOF(guards); i++)
                assert_int_equal(guard_list_add(&l, &guards[i]), 0);
        assert_int_equal(guard_list_write(fd, &l), 0);
        assert_int_equal(guard_list_read(fd, &back), 0);
        assert_int_equal(back.n, 2);
        for (size_t i = 0; i < back.n; i++) {
                assert_string_equal(back.guards[i].path, guards[i].path);
                assert_string_equal(back.guards[i].source, guards[i].source);
                assert_string_equal(back.guards[i].target, guards[i].target);
                assert_int_equal(back.guards[i].read_only, guards[i].read_only);
                assert_int_equal(back.guards[i].pin, guards[i].pin);
        }
        assert_int_equal(guard_list_write(fd, &l), -EEXIST);
        assert_int_equal(unlinkat(fd, "guards.json", 0), 0);
        assert_int_equal(guard_list_read(fd, &back), -ENOENT);
}

static void test_nonsense(void **state) {
        static const char *const rows[] = {
                "", "{}", "[1]", "[{}]", "null",
                "[{\"path\":\"/a\",\"source\":\"/a\",\"target\":\"/a\",\"read-only\":true}]",
                "[{\"path\":\"a\",\"source\":\"/a\",\"target\":\"/a\",\"read-only\":true,\"pin\":false}]",
                "[{\"path\":\"/a/../b\",\"source\":\"/a\",\"target\":\"/a\",\"read-only\":true,\"pin\":false}]",
        };
        _cleanup_close_ int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                GuardList l;

                scratch_puts("guards.json", rows[i]);
                assert_int_equal(guard_list_read(fd, &l), -EBADMSG);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back),
                cmocka_unit_test(test_nonsense),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
