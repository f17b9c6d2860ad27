/* SPDX-License-Identifier: MIT */

/* On ordinary directories, which have inode numbers just as well. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "bridge/cgroup-tree.h"

static char root[] = "/tmp/test-cgroup-tree.XXXXXX";

static const char *const directories[] = { "/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f" };

static uint64_t number_of(const char *path) {
        char full[256];
        struct stat st;

        (void) snprintf(full, sizeof(full), "%s%s", root, path);
        assert_int_equal(stat(full, &st), 0);
        return st.st_ino;
}

static int setup(void **state) {
        if (!mkdtemp(root))
                return -1;

        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                char full[256];

                (void) snprintf(full, sizeof(full), "%s%s", root, directories[i]);
                if (mkdir(full, 0700) < 0)
                        return -1;
        }

        return 0;
}

static int teardown(void **state) {
        for (size_t i = ELEMENTSOF(directories); i-- > 0;) {
                char full[256];

                (void) snprintf(full, sizeof(full), "%s%s", root, directories[i]);
                (void) rmdir(full);
        }

        return rmdir(root);
}

static void test_found_with_its_path(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(directories); i++) {
                _cleanup_free_ char *path = NULL;

                assert_int_equal(cgroup_tree_find(root, "/", number_of(directories[i]), 100, &path), 1);
                assert_string_equal(path, directories[i]);
        }
}

static void test_inside_of_a_part(void **state) {
        _cleanup_free_ char *path = NULL;

        assert_int_equal(cgroup_tree_find(root, "/a", number_of("/a"), 100, NULL), 1);
        assert_int_equal(cgroup_tree_find(root, "/a", number_of("/a/b/c"), 100, &path), 1);
        assert_string_equal(path, "/a/b/c");
        assert_int_equal(cgroup_tree_find(root, "/a", number_of("/e"), 100, NULL), 0);
        assert_int_equal(cgroup_tree_find(root, "/a", number_of("/"), 100, NULL), 0);
        assert_int_equal(cgroup_tree_find(root, "/a", 0, 100, NULL), 0);
        assert_int_equal(cgroup_tree_find(root, "/missing", number_of("/a"), 100, NULL), -ENOENT);
        assert_int_equal(cgroup_tree_find(root, "", number_of("/a"), 100, NULL), -EINVAL);
}

static void test_bounded(void **state) {
        /* Six directories below the root: none of them is the one. */
        assert_int_equal(cgroup_tree_find(root, "/", number_of("/"), 0, NULL), 1);
        assert_int_equal(cgroup_tree_find(root, "/", 0, 6, NULL), 0);
        assert_int_equal(cgroup_tree_find(root, "/", 0, 5, NULL), -E2BIG);
        assert_int_equal(cgroup_tree_find(root, "/", 0, 0, NULL), -E2BIG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_found_with_its_path),
                cmocka_unit_test(test_inside_of_a_part),
                cmocka_unit_test(test_bounded),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
