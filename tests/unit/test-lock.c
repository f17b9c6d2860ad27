/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "scratch.h"
#include "shared/lock.h"

static Dirs dirs_in(const char *name) {
        static char path[PATH_MAX + 256];

        (void) snprintf(path, sizeof(path), "%s", in_scratch(name));
        return (Dirs) { .data = path };
}

static void test_readers_make_nothing(void **state) {
        Dirs dirs = dirs_in("a/b");

        assert_int_equal(profiles_lock(&dirs, PROFILES_READ), -ENOENT);
        assert_int_equal(access(in_scratch("a"), F_OK), -1);
}

static void test_launches_share(void **state) {
        _cleanup_close_ int one = -EBADF, two = -EBADF, three = -EBADF;
        Dirs dirs = dirs_in("shared");
        struct stat st;

        one = profiles_lock(&dirs, PROFILES_LAUNCH);
        two = profiles_lock(&dirs, PROFILES_LAUNCH);
        three = profiles_lock(&dirs, PROFILES_READ);
        assert_true(one >= 0 && two >= 0 && three >= 0);
        assert_int_equal(fcntl(one, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(stat(in_scratch("shared/lock"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
}

/* Whoever keeps the lock, say a stopped process, holds others up for some seconds only. */
static void test_bounded_wait(void **state) {
        _cleanup_close_ int held = -EBADF, again = -EBADF;
        Dirs dirs = dirs_in("held");
        uint64_t start;

        held = profiles_lock(&dirs, PROFILES_CHANGE);
        assert_true(held >= 0);

        start = now_usec();
        assert_int_equal(profiles_lock(&dirs, PROFILES_LAUNCH), -EBUSY);
        assert_in_range(now_usec() - start, 5 * USEC_PER_SEC, 30 * USEC_PER_SEC);

        held = fd_close(held);
        again = profiles_lock(&dirs, PROFILES_CHANGE);
        assert_true(again >= 0);
}

/* The lock's file is never somebody else's. */
static void test_link_is_refused(void **state) {
        Dirs dirs = dirs_in("linked");

        scratch_mkdir("linked");
        assert_int_equal(symlink("elsewhere", in_scratch("linked/lock")), 0);
        assert_int_equal(profiles_lock(&dirs, PROFILES_CHANGE), -ELOOP);
        assert_int_equal(access(in_scratch("linked/elsewhere"), F_OK), -1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_readers_make_nothing),
                cmocka_unit_test(test_launches_share),
                cmocka_unit_test(test_bounded_wait),
                cmocka_unit_test(test_link_is_refused),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
