/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>

#include "basic/fd.h"
#include "scratch.h"
#include "shared/mkdir.h"

static mode_t mode_of(const char *name) {
        struct stat st;

        assert_int_equal(lstat(in_scratch(name), &st), 0);
        assert_true(S_ISDIR(st.st_mode));
        return st.st_mode & 07777;
}

static void test_makes_what_is_missing(void **state) {
        _cleanup_close_ int fd = -EBADF, again = -EBADF;
        struct stat a, b;

        scratch_mkdir("there");
        assert_int_equal(chmod(in_scratch("there"), 0755), 0);

        fd = mkdir_open(in_scratch("there/a/b/c"));
        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(mode_of("there"), 0755);
        assert_int_equal(mode_of("there/a"), 0700);
        assert_int_equal(mode_of("there/a/b/c"), 0700);

        /* It is that directory, and once more. */
        assert_int_equal(fstat(fd, &a), 0);
        assert_int_equal(stat(in_scratch("there/a/b/c"), &b), 0);
        assert_int_equal(a.st_ino, b.st_ino);
        again = mkdir_open(in_scratch("there/a/b/c"));
        assert_true(again >= 0);
}

static void test_spelling(void **state) {
        static const char *const rows[] = { "s1/", "s2//x", "s3/./x/", "s4/x y/\n" };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_close_ int fd = mkdir_open(in_scratch(rows[i]));

                assert_true(fd >= 0);
                assert_int_equal(mode_of(rows[i]), 0700);
        }

        assert_true(fd_close(mkdir_open("/")) == -EBADF);
}

static void test_errors(void **state) {
        _cleanup_close_ int fd = -EBADF;

        scratch_puts("file", "");
        assert_int_equal(mkdir_open(in_scratch("file")), -ENOTDIR);
        assert_int_equal(mkdir_open(in_scratch("file/x")), -ENOTDIR);
        assert_int_equal(symlink("nowhere", in_scratch("dangling")), 0);
        assert_int_equal(mkdir_open(in_scratch("dangling/x")), -ENOENT);
        assert_int_equal(mkdir_open(in_scratch("dangling")), -ENOENT);

        /* A link to a directory is the user's own choice. */
        scratch_mkdir("real");
        assert_int_equal(symlink("real", in_scratch("link")), 0);
        fd = mkdir_open(in_scratch("link/x"));
        assert_true(fd >= 0);
        assert_int_equal(mode_of("real/x"), 0700);
}

/* Several at once. */
static void test_race(void **state) {
        pid_t pids[8];
        int status;

        for (unsigned round = 0; round < 20; round++) {
                char name[64];

                (void) snprintf(name, sizeof(name), "race%u/a/b/c/d", round);
                for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                        pids[i] = fork();
                        if (pids[i] == 0)
                                _exit(mkdir_open(in_scratch(name)) < 0);
                }
                for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                        assert_int_equal(status, 0);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_makes_what_is_missing),
                cmocka_unit_test(test_spelling),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_race),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
