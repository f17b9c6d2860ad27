/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "shared/profile.h"

static Settings settings = { .profiles_base = scratch, .sandbox = -1 };

static void repeat(char *buf, char first, char then, size_t n) {
        memset(buf, then, n);
        buf[0] = first;
        buf[n] = '\0';
}

/* Y01, Y02: what the rule allows and what it refuses. */
static void test_names_y01_y02(void **state) {
        static const char *const good[] = {
                "my-team", "my_team", "a.b", "Work", "work", "a.", "con", "a", "9", "0-", "x..y", "ps",
                "list", "shared-settings", "service", "a.service.d", "a.Service", "settings.json",
        };
        static const char *const bad[] = {
                "", ".", "..", "../x", "a/b", "/etc", "a\nb", "a%2f..", "..\xef\xbc\x8fx", "-rf", "-lead",
                " a", "a ", "a b", "x@y", "\xc3\xa9", "a:b", ".a", "_a", "a\\b", "a\x1b[31m", "a\xff", "*",
                "$(id)", "shared-settings.json", "a.service", "a.socket", "a.scope", "a.slice", "a.timer",
                "a.mount", "a.automount", "a.device", "a.path", "a.swap", "a.target",
        };

        for (size_t i = 0; i < ELEMENTSOF(good); i++)
                if (!profile_name_is_valid(good[i]))
                        fail_msg("refused: '%s'", good[i]);
        for (size_t i = 0; i < ELEMENTSOF(bad); i++)
                if (profile_name_is_valid(bad[i]))
                        fail_msg("accepted: '%s'", bad[i]);
}

/* Y01: the longest names; what "-" is escaped to counts. The scope's name takes 30 characters more. */
static void test_name_lengths_y01(void **state) {
        static const struct {
                size_t n;
                char fill;
                bool good;
        } rows[] = {
                { 100, 'a', true },
                { 101, 'a', false },
                { 300, 'a', false },
                { 57, '-', true },  /* 1 + 56 * 4 = 225 */
                { 58, '-', false }, /* 229 */
                { 100, '-', false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char buf[512];

                repeat(buf, 'a', rows[i].fill, rows[i].n);
                assert_int_equal(profile_name_is_valid(buf), rows[i].good);
        }
}

static void test_open(void **state) {
        static const struct {
                const char *name;
                int r;
        } rows[] = {
                { "dir", 0 },
                { "none", -ENOENT },
                { "file", -ENOTDIR },
                { "link", -ENOTDIR },
                { "dangling", -ENOTDIR },
                { "fifo", -ENOTDIR },
                { "../x", -EINVAL },
                { "", -EINVAL },
        };

        scratch_mkdir("dir");
        scratch_puts("file", "");
        assert_int_equal(symlink("dir", in_scratch("link")), 0);
        assert_int_equal(symlink("nowhere", in_scratch("dangling")), 0);
        assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_profile_ Profile *p = NULL;

                assert_int_equal(profile_open(&settings, rows[i].name, &p), rows[i].r);
                if (!p)
                        continue;
                assert_string_equal(p->name, rows[i].name);
                assert_string_equal(p->path, in_scratch(rows[i].name));
                assert_true(p->fd >= 0);
        }
}

static void check_marker(const char *name, int expected) {
        _cleanup_profile_ Profile *p = NULL;

        assert_int_equal(profile_open(&settings, name, &p), 0);
        assert_int_equal(profile_has_marker(p), expected);

        for (int sandbox = -1; sandbox <= 1; sandbox++) {
                Settings s = { .sandbox = sandbox };

                assert_int_equal(profile_is_sandboxed(p, &s), sandbox < 0 ? expected : sandbox);
        }
}

/* Anything of the marker's name counts: fail safe. */
static void test_marker(void **state) {
        scratch_mkdir("m-none");
        scratch_mkdir("m-file");
        scratch_mkdir("m-dangling");
        scratch_mkdir("m-directory");
        scratch_puts("m-file/.sandbox", "");
        scratch_mkdir("m-directory/.sandbox");
        assert_int_equal(symlink("/nowhere/at/all", in_scratch("m-dangling/.sandbox")), 0);

        check_marker("m-none", 0);
        check_marker("m-file", 1);
        check_marker("m-dangling", 1);
        check_marker("m-directory", 1);
}

static void test_was_ever_sandboxed(void **state) {
        _cleanup_profile_ Profile *p = NULL;
        _cleanup_free_ char *data = strdup(in_scratch("data"));
        Dirs dirs = { .data = data };

        scratch_mkdir("ever");
        assert_int_equal(profile_open(&settings, "ever", &p), 0);
        assert_false(profile_was_ever_sandboxed(p, &dirs));

        scratch_mkdir("data");
        scratch_mkdir("data/profiles");
        scratch_mkdir("data/profiles/ever");
        scratch_puts("data/profiles/ever/sandboxed", "");
        assert_true(profile_was_ever_sandboxed(p, &dirs));

        assert_int_equal(unlink(in_scratch("data/profiles/ever/sandboxed")), 0);
        assert_false(profile_was_ever_sandboxed(p, &dirs));
        scratch_puts("ever/.sandbox", "");
        assert_true(profile_was_ever_sandboxed(p, &dirs));
}

/* Y02: names read from disk go through the same rule; what is odd is told, escaped. */
static void test_list_y02(void **state) {
        _cleanup_strv_ char **names = NULL, **odd = NULL;
        _cleanup_free_ char *base = strdup(in_scratch("base"));
        Settings s = { .profiles_base = base };

        assert_int_equal(profile_list(&s, &names, &odd), 0);
        assert_null(names);
        assert_null(odd);

        scratch_mkdir("base");
        scratch_mkdir("base/b");
        scratch_mkdir("base/a-1");
        scratch_mkdir("base/Z");
        scratch_mkdir("base/.hidden");
        scratch_mkdir("base/x\ny");
        scratch_mkdir("base/a.service");
        scratch_puts("base/shared-settings.json", "{}");
        scratch_puts("base/file", "");
        assert_int_equal(symlink("b", in_scratch("base/linked")), 0);
        assert_int_equal(symlink("file", in_scratch("base/filelink")), 0);

        assert_int_equal(profile_list(&s, &names, &odd), 0);
        assert_int_equal(strv_length(names), 3);
        assert_string_equal(names[0], "Z");
        assert_string_equal(names[1], "a-1");
        assert_string_equal(names[2], "b");

        assert_int_equal(strv_length(odd), 3);
        assert_non_null(strstr(odd[0], "/a.service: "));
        assert_non_null(strstr(odd[1], "/linked: "));
        assert_non_null(strstr(odd[2], "/x\\x0ay: "));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names_y01_y02),
                cmocka_unit_test(test_name_lengths_y01),
                cmocka_unit_test(test_open),
                cmocka_unit_test(test_marker),
                cmocka_unit_test(test_was_ever_sandboxed),
                cmocka_unit_test(test_list_y02),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
