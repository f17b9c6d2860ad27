/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "scratch.h"
#include "shared/replace-file.h"

static int open_scratch(void) {
        int fd = open(in_scratch(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_true(fd >= 0);
        return fd;
}

static void check(int fd, const char *name, const char *text, mode_t mode) {
        _cleanup_free_ char *got = NULL;
        struct stat st;
        size_t n;

        assert_int_equal(io_read_file_at(fd, name, MIB, &got, &n), 0);
        assert_string_equal(got, text);
        assert_int_equal(n, strlen(text));
        assert_int_equal(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode & 07777, mode);
}

static ino_t inode_of(const char *name) {
        struct stat st;

        assert_int_equal(lstat(in_scratch(name), &st), 0);
        return st.st_ino;
}

static void test_replace(void **state) {
        _cleanup_close_ int fd = open_scratch();
        ino_t before;

        assert_int_equal(replace_file_at(fd, "a", 0600, "one", 3), 0);
        check(fd, "a", "one", 0600);
        before = inode_of("a");
        assert_int_equal(replace_file_at(fd, "a", 0644, "", 0), 0);
        check(fd, "a", "", 0644);
        assert_true(inode_of("a") != before);

        /* A link is replaced, what it points at is not touched. */
        scratch_puts("target", "untouched");
        assert_int_equal(symlink("target", in_scratch("link")), 0);
        assert_int_equal(replace_file_at(fd, "link", 0600, "two", 3), 0);
        check(fd, "link", "two", 0600);
        check(fd, "target", "untouched", 0600);

        scratch_mkdir("dir");
        assert_int_equal(replace_file_at(fd, "dir", 0600, "x", 1), -EISDIR);
}

static void test_overwrite(void **state) {
        _cleanup_close_ int fd = open_scratch();
        ino_t before;

        assert_int_equal(overwrite_file_at(fd, "b", 0600, "x", 1), -ENOENT);
        scratch_puts("b", "something long");
        before = inode_of("b");
        assert_int_equal(overwrite_file_at(fd, "b", 0640, "short", 5), 0);
        check(fd, "b", "short", 0640);
        assert_true(inode_of("b") == before);

        scratch_puts("target", "untouched");
        assert_int_equal(symlink("target", in_scratch("link-b")), 0);
        assert_int_equal(overwrite_file_at(fd, "link-b", 0600, "x", 1), -ELOOP);
        check(fd, "target", "untouched", 0600);

        /* Nobody reads: opening must not hang. */
        assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
        assert_int_equal(overwrite_file_at(fd, "fifo", 0600, "x", 1), -ENXIO);
}

static void test_temporary_names_differ(void **state) {
        _cleanup_free_ char *a = NULL, *b = NULL;

        assert_int_equal(temporary_name("x", &a), 0);
        assert_int_equal(temporary_name("x", &b), 0);
        assert_int_equal(strlen(a), 2 + 1 + 16);
        assert_memory_equal(a, ".x.", 3);
        assert_string_not_equal(a, b);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_replace),
                cmocka_unit_test(test_overwrite),
                cmocka_unit_test(test_temporary_names_differ),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
