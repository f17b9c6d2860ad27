/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "scratch.h"

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"

/* A pipe that holds `n` bytes and is at its end. */
static int pipe_with(const char *data, size_t n) {
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        assert_int_equal(io_write_all(fds[1], data, n), 0);
        (void) close(fds[1]);
        return fds[0];
}

static int read_all(const char *data, size_t n, size_t max, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = pipe_with(data, n);

        return io_read_all(fd, max, ret, ret_n);
}

static void test_read_limits(void **state) {
        static char data[10000];
        const struct {
                size_t n;
                size_t max;
                int result;
        } rows[] = {
                { 0, 0, 0 },
                { 1, 0, -EFBIG },
                { 7, 7, 0 },
                { 8, 7, -EFBIG },
                { 10000, 10000, 0 },
                { 10000, 9999, -EFBIG },
        };

        memset(data, 'x', sizeof(data));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *text = NULL;
                size_t n = 77;

                assert_int_equal(read_all(data, rows[i].n, rows[i].max, &text, &n), rows[i].result);
                if (rows[i].result < 0) {
                        assert_null(text);
                        assert_int_equal(n, 77);
                        continue;
                }

                assert_int_equal(n, rows[i].n);
                assert_memory_equal(text, data, n);
                assert_int_equal(text[n], '\0');
        }
}

static void test_read_without_length(void **state) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(read_all("a\0b", 3, 10, &text, NULL), 0);
        assert_memory_equal(text, "a\0b", 4);
}

static void test_read_error(void **state) {
        _cleanup_close_ int fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char *text = NULL;

        assert_int_equal(io_read_all(fd, 10, &text, NULL), -EISDIR);
        assert_int_equal(io_read_all(-EBADF, 10, &text, NULL), -EBADF);
        assert_null(text);
}

static void test_write_error(void **state) {
        _cleanup_close_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

        assert_int_equal(io_write_all(full, "x", 1), -ENOSPC);
        assert_int_equal(io_write_all(-EBADF, "x", 1), -EBADF);
        assert_int_equal(io_write_all(-EBADF, "", 0), 0);
}

static void test_read_file(void **state) {
        _cleanup_close_ int dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        char *none = NULL;
        size_t n;

        scratch_puts("file", "content");
        scratch_mkdir("dir");
        assert_int_equal(symlink("file", in_scratch("link")), 0);
        assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);

        assert_int_equal(io_read_file_at(dir, "file", 7, &text, &n), 0);
        assert_int_equal(n, 7);
        assert_string_equal(text, "content");

        assert_int_equal(io_read_file_at(dir, "file", 6, &none, NULL), -EFBIG);
        assert_int_equal(io_read_file_at(dir, "none", 6, &none, NULL), -ENOENT);
        assert_int_equal(io_read_file_at(dir, "dir", 6, &none, NULL), -ENOTREG);
        assert_int_equal(io_read_file_at(dir, "link", 6, &none, NULL), -ELOOP);
        /* Nobody writes into it: that must not wait. */
        assert_int_equal(io_read_file_at(dir, "fifo", 6, &none, NULL), -ENOTREG);
        assert_int_equal(io_read_file_at(AT_FDCWD, "/dev/zero", 6, &none, NULL), -ENOTREG);
        assert_null(none);
}

static void test_write_new(void **state) {
        _cleanup_close_ int dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        struct stat st;
        mode_t saved;

        saved = umask(077);
        assert_int_equal(io_write_new_at(dir, "new", 0644, "abc", 3), 0);
        assert_int_equal(io_write_new_at(dir, "private", 0600, "", 0), 0);
        (void) umask(saved);

        assert_int_equal(stat(in_scratch("new"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0644);
        assert_int_equal(stat(in_scratch("private"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);

        assert_int_equal(io_write_new_at(dir, "new", 0644, "def", 3), -EEXIST);
        assert_int_equal(io_read_file_at(dir, "new", 10, &text, NULL), 0);
        assert_string_equal(text, "abc");

        assert_int_equal(symlink("elsewhere", in_scratch("dangling")), 0);
        assert_int_equal(io_write_new_at(dir, "dangling", 0644, "x", 1), -EEXIST);
        assert_int_equal(access(in_scratch("elsewhere"), F_OK), -1);
}

/* Every way by which a name could lead elsewhere. */
static void test_open_without_links(void **state) {
        static const struct {
                const char *path;
                int flags, beneath, no_links; /* 0: opened */
        } rows[] = {
                { "box", O_RDONLY, 0, 0 },
                { "box/file", O_RDONLY, 0, 0 },
                { "box/to-file", O_RDONLY, -ELOOP, -ELOOP },
                { "box/to-file", O_PATH | O_NOFOLLOW, 0, -ELOOP }, /* the link itself */
                { "box/up/box/file", O_RDONLY, -ELOOP, -ELOOP },
                { "box/up/box/file", O_PATH | O_NOFOLLOW, -ELOOP, -ELOOP },
                { "box/root/etc", O_RDONLY, -ELOOP, -ELOOP },
                { "box/../../etc", O_RDONLY, -EXDEV, -ENOENT },
                { "box/nothing", O_RDONLY, -ENOENT, -ENOENT },
                { "box/file/x", O_RDONLY, -ENOTDIR, -ENOTDIR },
        };
        _cleanup_close_ int dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC), self = -EBADF;

        scratch_mkdir("box");
        scratch_puts("box/file", "");
        assert_int_equal(symlink("file", in_scratch("box/to-file")), 0);
        assert_int_equal(symlink("..", in_scratch("box/up")), 0);
        assert_int_equal(symlink("/", in_scratch("box/root")), 0);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_close_ int beneath = io_open_beneath(dir, rows[i].path, rows[i].flags), no_links = -EBADF;

                no_links = io_open_no_links(in_scratch(rows[i].path));
                assert_int_equal(MIN(beneath, 0), rows[i].beneath);
                assert_int_equal(MIN(no_links, 0), rows[i].no_links);
        }

        self = io_open_beneath(dir, "", O_RDONLY | O_DIRECTORY);
        assert_true(self >= 0);
        assert_int_equal(io_open_beneath(dir, "/etc", O_RDONLY), -EXDEV);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_read_limits),
                cmocka_unit_test(test_read_without_length),
                cmocka_unit_test(test_read_error),
                cmocka_unit_test(test_write_error),
                cmocka_unit_test(test_read_file),
                cmocka_unit_test(test_write_new),
                cmocka_unit_test(test_open_without_links),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
