/* SPDX-License-Identifier: MIT */

/* Files of the user's own, and which links may lead to them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/fd.h"
#include "basic/io.h"
#include "launch/open-own.h"
#include "scratch.h"

static void make_link(const char *name, const char *target, uid_t owner) {
        scratch_link(target, name);
        if (owner == 0)
                assert_int_equal(lchown(in_scratch(name), 0, 0), 0);
}

/* Whether the file can be read by that name, with its text, or the error. */
static void check(const char *name, int expected) {
        _cleanup_close_ int fd = -EBADF;
        char text[16] = "";

        fd = open_own_file(in_scratch(name));
        if (expected < 0) {
                assert_int_equal(fd, expected);
                return;
        }

        assert_true(fd >= 0);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        assert_string_equal(text, "mine");
}

static void test_paths(void **state) {
        scratch_puts("file", "mine");
        scratch_mkdir("dir");
        scratch_puts("dir/file", "mine");
        assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
        check("file", 0);
        check("dir/file", 0);
        check("dir//.././dir/file", 0);
        check("none", -ENOENT);
        check("none/file", -ENOENT);
        check("file/x", -ENOTDIR);
        check("dir", -ENOTREG);
        check("dir/", -ENOTREG);
        check("fifo", -ENOTREG);
}

/* A user's link, and what a guest makes of the place that it leads to. */
static void test_one_link(void **state) {
        make_link("relative", "dir/file", 1000);
        make_link("absolute", in_scratch("dir/file"), 1000);
        make_link("up", "dir/../file", 1000);
        make_link("to-dir", "dir", 1000);
        make_link("to-fifo", "fifo", 1000);
        make_link("dangling", "none", 1000);
        check("relative", 0);
        check("absolute", 0);
        check("up", 0);
        check("to-dir/file", 0);
        check("to-fifo", -ENOTREG);
        check("dangling", -ENOENT);

        make_link("dir/planted", "../file", 1000);
        make_link("dir/planted-dir", "..", 1000);
        make_link("through", "dir/planted", 1000);
        make_link("through-dir", "dir/planted-dir/file", 1000);
        check("through", -ELOOP);
        check("through-dir", -ELOOP);
        check("to-dir/planted", -ELOOP);
        check("dir/planted", 0);
        make_link("self", "self", 1000);
        check("self", -ELOOP);
}

static void test_roots_links(void **state) {
        if (geteuid() != 0)
                skip();

        make_link("root-a", "root-b", 0);
        make_link("root-b", "dir/file", 0);
        make_link("mine", "root-a", 1000);
        make_link("mine-through", "root-to-mine", 1000);
        make_link("root-to-mine", "relative", 0);
        make_link("root-self", "root-self", 0);
        check("root-a", 0);
        check("mine", 0);
        check("mine-through", -ELOOP);
        check("root-self", -ELOOP);
}

static void test_long(void **state) {
        static char path[2 * PATH_MAX];

        memset(path, 'x', sizeof(path) - 1);
        path[0] = '/';
        assert_int_equal(open_own_file(path), -ENAMETOOLONG);
        path[NAME_MAX + 10] = '\0';
        assert_int_equal(open_own_file(path), -ENAMETOOLONG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_paths),
                cmocka_unit_test(test_one_link),
                cmocka_unit_test(test_roots_links),
                cmocka_unit_test(test_long),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
