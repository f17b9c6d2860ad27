/* SPDX-License-Identifier: MIT */

/* Unit names of profiles: valid, short enough, different for different names, and readable back. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "shared/profile.h"
#include "shared/unit-name.h"

#define ID "0123abcd"
#define UNIT_NAME_MAX 255

static const char *const profiles[] = { "work", "Work", "my-team", "my_team", "mx2dteam", "a.b", "a-b", "a", "b", "a-", "a--b", "a.", "con", "0", "9-9",
        "claude-sandbox", "a-0123abcd" };

static void test_exact(void **state) {
        _cleanup_launch_units_ LaunchUnits u = { 0 };

        assert_int_equal(launch_units_make("my-team.x", ID, &u), 0);
        assert_string_equal(u.supervisor, "claude-sandbox@my-team.x.service");
        assert_string_equal(u.slice, "claude-sandbox-my\\x2dteam.x.slice");
        assert_string_equal(u.scope, "claude-sandbox-my-team.x-" ID ".scope");
        assert_string_equal(u.socket, "claude-bridge@my-team.x-" ID ".socket");
        assert_string_equal(u.bridge, "claude-bridge@my-team.x-" ID ".service");

        launch_units_clear(&u);
        assert_null(u.scope);
        launch_units_clear(&u);
}

/* systemd.unit(5): these characters, and a length of 255. */
static void assert_unit_name(const char *name) {
        assert_true(strlen(name) <= UNIT_NAME_MAX);
        if (strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:-_.\\@") != strlen(name))
                fail_msg("%s is no unit name", name);
}

static void assert_units(const char *profile) {
        _cleanup_launch_units_ LaunchUnits u = { 0 };

        assert_true(profile_name_is_valid(profile));
        assert_int_equal(launch_units_make(profile, ID, &u), 0);
        assert_unit_name(u.supervisor);
        assert_unit_name(u.slice);
        assert_unit_name(u.scope);
        assert_unit_name(u.socket);
        assert_unit_name(u.bridge);
}

/* The profile back from its slice, as systemd-escape --unescape reads it: "-" would be "/". */
static char *profile_of_slice(const char *slice) {
        char *s = strdup(str_after_prefix(slice, "claude-sandbox-")), *q = s;

        assert_non_null(s);
        assert_true(str_has_suffix(s, ".slice"));
        s[strlen(s) - strlen(".slice")] = '\0';

        for (const char *p = s; *p; p++)
                if (str_after_prefix(p, "\\x2d")) {
                        *q++ = '-';
                        p += 3;
                } else {
                        assert_true(*p != '-' && *p != '\\');
                        *q++ = *p;
                }
        *q = '\0';
        return s;
}

static void test_different(void **state) {
        for (size_t i = 0; i < ELEMENTSOF(profiles); i++) {
                _cleanup_free_ char *slice = profile_slice_name(profiles[i]), *back = NULL;
                _cleanup_launch_units_ LaunchUnits a = { 0 };

                assert_units(profiles[i]);
                assert_int_equal(launch_units_make(profiles[i], ID, &a), 0);
                assert_string_equal(a.slice, slice);
                back = profile_of_slice(slice);
                assert_string_equal(back, profiles[i]);

                for (size_t j = 0; j < i; j++) {
                        _cleanup_launch_units_ LaunchUnits b = { 0 };

                        assert_int_equal(launch_units_make(profiles[j], ID, &b), 0);
                        assert_string_not_equal(a.supervisor, b.supervisor);
                        assert_string_not_equal(a.slice, b.slice);
                        assert_string_not_equal(a.scope, b.scope);
                        assert_string_not_equal(a.socket, b.socket);
                }
        }
}

/* The longest name that is allowed, for every number of characters that need an escape. */
static void test_longest(void **state) {
        size_t longest = 0;

        for (size_t dashes = 0; dashes < PROFILE_NAME_MAX; dashes++)
                for (size_t n = dashes + 1; n <= PROFILE_NAME_MAX + 1; n++) {
                        char name[PROFILE_NAME_MAX + 2];

                        memset(name, 'x', n);
                        memset(name + 1, '-', dashes);
                        name[n] = '\0';
                        if (!profile_name_is_valid(name))
                                continue;
                        assert_units(name);
                        longest = MAX(longest, n);
                }

        assert_int_equal(longest, PROFILE_NAME_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_exact),
                cmocka_unit_test(test_different),
                cmocka_unit_test(test_longest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
