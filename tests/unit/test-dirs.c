/* SPDX-License-Identifier: MIT */

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "scratch.h"
#include "shared/dirs.h"

static void test_path_normalize(void **state) {
        static const char *const rows[][2] = {
                { "/", "/" },
                { "///", "/" },
                { "/a/b", "/a/b" },
                { "/a//b/./c/", "/a/b/c" },
                { "/.", "/" },
                { "/a/.../b", "/a/.../b" },
                { "/a/..b", "/a/..b" },
                { "/a/../b", NULL },
                { "/..", NULL },
                { "a/b", NULL },
                { "", NULL },
                { "~/x", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *s = NULL;

                assert_int_equal(path_normalize(rows[i][0], &s), rows[i][1] ? 0 : -EINVAL);
                if (rows[i][1])
                        assert_string_equal(s, rows[i][1]);
        }
}

static void clear_environment(void) {
        unsetenv("XDG_CONFIG_HOME");
        unsetenv("XDG_DATA_HOME");
        unsetenv("XDG_RUNTIME_DIR");
        setenv("HOME", "/home/somebody/", 1);
}

static void test_defaults(void **state) {
        _cleanup_dirs_ Dirs *d = NULL;

        clear_environment();
        assert_int_equal(dirs_load(&d), 0);
        assert_string_equal(d->home, "/home/somebody");
        assert_string_equal(d->config, "/home/somebody/.config/claude-profile");
        assert_string_equal(d->data, "/home/somebody/.local/share/claude-profile");
        assert_null(d->runtime_root);
        assert_null(d->runtime);
}

static void test_xdg(void **state) {
        _cleanup_dirs_ Dirs *d = NULL;

        clear_environment();
        setenv("XDG_CONFIG_HOME", "/c//d/", 1);
        setenv("XDG_DATA_HOME", "relative/is/ignored", 1);
        assert_int_equal(dirs_load(&d), 0);
        assert_string_equal(d->config, "/c/d/claude-profile");
        assert_string_equal(d->data, "/home/somebody/.local/share/claude-profile");
}

static void test_home_from_user_database(void **state) {
        static const char *const useless[] = { "", "relative", NULL };
        const struct passwd *pw = getpwuid(getuid());
        _cleanup_dirs_ Dirs *good = NULL;

        if (!pw || pw->pw_dir[0] != '/')
                return;

        for (size_t i = 0; i < ELEMENTSOF(useless); i++) {
                _cleanup_dirs_ Dirs *d = NULL;

                clear_environment();
                if (useless[i])
                        setenv("HOME", useless[i], 1);
                else
                        unsetenv("HOME");
                assert_int_equal(dirs_load(&d), 0);
                assert_true(str_after_prefix(pw->pw_dir, d->home));
                d = dirs_free(d);
                assert_int_equal(dirs_load_from_environment(&d), -ENXIO);
        }

        clear_environment();
        assert_int_equal(dirs_load_from_environment(&good), 0);
        assert_string_equal(good->home, "/home/somebody");
}

/* Y04: a runtime directory that is missing, writable by others, a link or no directory is none. */
static void test_runtime_y04(void **state) {
        static const struct {
                const char *path; /* below the scratch directory if relative */
                bool good;
        } rows[] = {
                { "missing", false },
                { "file", false },
                { "link", false },
                { "open", false },
                { "", false },
                { "good", true },
                { "good/", true },
        };

        scratch_mkdir("good");
        scratch_mkdir("open");
        assert_int_equal(chmod(in_scratch("open"), 0770), 0);
        scratch_puts("file", "");
        assert_int_equal(symlink("good", in_scratch("link")), 0);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_dirs_ Dirs *d = NULL;

                clear_environment();
                setenv("XDG_RUNTIME_DIR", rows[i].path[0] ? in_scratch(rows[i].path) : "", 1);
                assert_int_equal(dirs_load(&d), 0);
                if (rows[i].good) {
                        assert_string_equal(d->runtime_root, in_scratch("good"));
                        assert_string_equal(d->runtime, in_scratch("good/claude-profile"));
                } else {
                        assert_null(d->runtime_root);
                        assert_null(d->runtime);
                }
        }
}

static void test_runtime_of_another_user_y04(void **state) {
        _cleanup_dirs_ Dirs *d = NULL;

        clear_environment();
        if (geteuid() == 0) {
                scratch_mkdir("foreign");
                assert_int_equal(chown(in_scratch("foreign"), 12345, 12345), 0);
                setenv("XDG_RUNTIME_DIR", in_scratch("foreign"), 1);
        } else
                setenv("XDG_RUNTIME_DIR", "/", 1);

        assert_int_equal(dirs_load(&d), 0);
        assert_null(d->runtime_root);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_path_normalize),
                cmocka_unit_test(test_defaults),
                cmocka_unit_test(test_xdg),
                cmocka_unit_test(test_home_from_user_database),
                cmocka_unit_test(test_runtime_y04),
                cmocka_unit_test(test_runtime_of_another_user_y04),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
