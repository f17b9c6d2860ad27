/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/io.h"
#include "basic/alloc.h"
#include "scratch.h"
#include "shared/copy-tree.h"

static int copy(const char *from, const char *to) {
        _cleanup_close_ int dir_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -EBADF;

        fd = open(in_scratch(from), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(dir_fd >= 0 && fd >= 0);
        return copy_tree_at(fd, dir_fd, to);
}

static mode_t mode_of(const char *name) {
        struct stat st;

        assert_int_equal(lstat(in_scratch(name), &st), 0);
        return st.st_mode;
}

static void test_copy(void **state) {
        _cleanup_free_ char *text = NULL;
        char link[64] = "";

        scratch_mkdir("a");
        scratch_mkdir("a/sub");
        scratch_puts("a/run", "#!/bin/sh\n");
        assert_int_equal(chmod(in_scratch("a/run"), 04755), 0);
        scratch_puts("a/sub/empty", "");
        assert_int_equal(chmod(in_scratch("a/sub/empty"), 0444), 0);
        assert_int_equal(symlink("/etc/shadow", in_scratch("a/link")), 0);
        assert_int_equal(mkfifo(in_scratch("a/fifo"), 0600), 0);

        assert_int_equal(copy("a", "b"), 0);
        assert_int_equal(io_read_file_at(AT_FDCWD, in_scratch("b/run"), 64, &text, NULL), 0);
        assert_string_equal(text, "#!/bin/sh\n");
        /* Permissions, but nothing that gives more than that. */
        assert_int_equal(mode_of("b/run"), S_IFREG | 0755);
        assert_int_equal(mode_of("b/sub"), S_IFDIR | 0700);
        assert_int_equal(mode_of("b/sub/empty"), S_IFREG | 0644);
        assert_int_equal(readlink(in_scratch("b/link"), link, sizeof(link) - 1), 11);
        assert_string_equal(link, "/etc/shadow");
        assert_int_equal(access(in_scratch("b/fifo"), F_OK), -1);

        assert_int_equal(copy("a", "b"), -EEXIST);
}

static void test_bounds(void **state) {
        char path[256] = "deep";

        scratch_mkdir("deep");
        for (size_t i = 0; i < 40; i++) {
                (void) strcat(path, "/d");
                scratch_mkdir(path);
        }
        assert_int_equal(copy("deep", "deep-copy"), -EFBIG);

        /* A hole of a terabyte takes no room here, and would there. */
        scratch_mkdir("large");
        scratch_puts("large/x", "");
        assert_int_equal(truncate(in_scratch("large/x"), (off_t) 1 << 40), 0);
        assert_int_equal(copy("large", "large-copy"), -EFBIG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_copy),
                cmocka_unit_test(test_bounds),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
