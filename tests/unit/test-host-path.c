/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "launch/host-path.h"

static void check(const char *path, const char *place, const char *expected) {
        const char *const places[] = { NULL, place };
        _cleanup_free_ char *filtered = NULL;

        assert_int_equal(host_path_filter(path, places, ELEMENTSOF(places), &filtered), 0);
        assert_string_equal(filtered, expected);
}

static void test_filter(void **state) {
        check("/usr/bin:/bin", "/nonexistent", "/usr/bin:/bin");
        check("", "/nonexistent", "");
        check("bin:./node_modules/.bin::/usr/bin:../x", "/nonexistent", "/usr/bin");
        check("/usr/bin:/usr/sbin:/bin/../usr/bin:/tmp", "/usr", "/tmp");
        check("/usr/bin:/nonexistent/bin", "/tmp", "/usr/bin");
        check("/usr/bin", "/usr/bi", "/usr/bin");
}

static void test_link(void **state) {
        char dir[] = "/tmp/test-host-path-XXXXXX", inside[64], link[64], path[256];

        assert_non_null(mkdtemp(dir));
        (void) snprintf(inside, sizeof(inside), "%s/work", dir);
        (void) snprintf(link, sizeof(link), "%s/link", dir);
        assert_int_equal(mkdir(inside, 0700), 0);
        assert_int_equal(symlink(inside, link), 0);

        (void) snprintf(path, sizeof(path), "%s:/usr/bin:%s", link, inside);
        check(path, inside, "/usr/bin");

        assert_int_equal(unlink(link), 0);
        assert_int_equal(rmdir(inside), 0);
        assert_int_equal(rmdir(dir), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_filter),
                cmocka_unit_test(test_link),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
