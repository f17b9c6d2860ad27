/* SPDX-License-Identifier: MIT */

/* Unit files as the generator writes them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "generator/render.h"
#include "generator/unit-text.h"
#include "messages.h"

static void test_values(void **state) {
        static const struct {
                const char *value;
                const char *written; /* NULL: refused */
        } rows[] = {
                { "work", "work" },
                { "", "" },
                { "a b", "a b" },
                { "%", "%%" },
                { "100% of %i%%", "100%% of %%i%%%%" },
                { "$HOME ${X} `id` \"q\" 'q' ; # =", "$HOME ${X} `id` \"q\" 'q' ; # =" },
                { "grüß 日本", "grüß 日本" },
                { "C:\\x", "C:\\x" },
                { "ends in \\", NULL },
                { "\\", NULL },
                { " blank before", NULL },
                { "blank behind ", NULL },
                { "x\nExecStart=/bin/sh", NULL },
                { "x\r", NULL },
                { "\tx", NULL },
                { "x\x1b[31m", NULL },
                { "x\x7f", NULL },
                { "\xff", NULL },
                { "\xc3", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_unit_text_ UnitText u = { 0 }, plain = { 0 };
                char expected[256];

                (void) snprintf(expected, sizeof(expected), "Key=%s\n", rows[i].written ?: "");
                assert_int_equal(unit_text_set(&u, "Key", rows[i].value), rows[i].written ? 0 : -EINVAL);
                assert_string_equal(u.text ?: "", rows[i].written ? expected : "");

                (void) snprintf(expected, sizeof(expected), "Key=%s\n", rows[i].value);
                assert_int_equal(unit_text_set_plain(&plain, "Key", rows[i].value), rows[i].written ? 0 : -EINVAL);
                assert_string_equal(plain.text ?: "", rows[i].written ? expected : "");
        }
}

#define COMMENT "# Made by claude-sandbox-generator, and made anew with each daemon-reload: see claude-profile.conf(5).\n"

static void assert_rendered(int (*render)(const ProfileUnits *p, char **ret), const ProfileUnits *p, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(render(p, &text), 0);
        assert_string_equal(text, expected);
}

static void test_slice(void **state) {
        ProfileUnits p = { .profile = "my-team", .path = "/home/u/.claude-profiles/my-team" };

        assert_rendered(render_slice, &p, COMMENT "\n[Unit]\nDescription=Claude sandboxes of profile my-team\n"
                        "Documentation=man:claude-profile.conf(5)\n\n[Slice]\n");

        /* A limit's percent sign is no specifier: the manager would not take a doubled one. */
        p.settings_file = "/home/100%/.config/claude-profile/profiles/my-team.conf";
        assert_int_equal(limit_parse(LIMIT_MEMORY_MAX, "1.5G", &p.limits.items[LIMIT_MEMORY_MAX]), 0);
        assert_int_equal(limit_parse(LIMIT_MEMORY_HIGH, "25%", &p.limits.items[LIMIT_MEMORY_HIGH]), 0);
        assert_int_equal(limit_parse(LIMIT_CPU_QUOTA, "12.5%", &p.limits.items[LIMIT_CPU_QUOTA]), 0);
        assert_int_equal(limit_parse(LIMIT_CPU_WEIGHT, "idle", &p.limits.items[LIMIT_CPU_WEIGHT]), 0);
        assert_int_equal(limit_parse(LIMIT_TASKS_MAX, "infinity", &p.limits.items[LIMIT_TASKS_MAX]), 0);
        assert_rendered(render_slice, &p, COMMENT "\n[Unit]\nDescription=Claude sandboxes of profile my-team\n"
                        "Documentation=man:claude-profile.conf(5)\n"
                        "SourcePath=/home/100%%/.config/claude-profile/profiles/my-team.conf\n\n[Slice]\n"
                        "CPUQuota=12.50%\nCPUWeight=idle\nMemoryHigh=25%\nMemoryMax=1536M\nTasksMax=infinity\n");

        /* A path that no unit file can hold is left out. */
        p.settings_file = "/home/a\nb/my-team.conf";
        p.limits = (Limits) { 0 };
        assert_rendered(render_slice, &p, COMMENT "\n[Unit]\nDescription=Claude sandboxes of profile my-team\n"
                        "Documentation=man:claude-profile.conf(5)\n\n[Slice]\n");
}

static void test_supervisor(void **state) {
        ProfileUnits p = { .profile = "a.b", .path = "/home/$USER 50% %h/a\nExecStart=x\x1b/a.b" };

        assert_rendered(render_supervisor, &p, COMMENT "\n[Unit]\nDescription=Supervisor of Claude sandboxes of profile a.b "
                        "(/home/$USER 50%% %%h/a\\x0aExecStart=x\\x1b/a.b)\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_values),
                cmocka_unit_test(test_slice),
                cmocka_unit_test(test_supervisor),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
