/* SPDX-License-Identifier: MIT */

/* Settings as the generator reads them, and the limits among them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/clock.h"
#include "settings-stage.h"

/* One file, and of the environment what says where and whether. Nothing is an error. */
static void test_one_file(void **state) {
        static const char *const warnings[] = {
                ":2: RAM=lots: expected a number of MiB from 128 on, or a size such as 512M or 8G",
                ":3: TasksMax=0: expected a number from 1 on, a percentage, or infinity",
                NULL,
        };
        _cleanup_settings_ Settings *main = NULL, *work = NULL, *none = NULL;
        Limits limits;

        scratch_puts(MAIN, "[Sandbox]\nProfilesBase=/p\nSandbox=perhaps\nMemoryMax=9G\n");
        scratch_puts(WORK, "[Sandbox]\nRAM=lots\nTasksMax=0\nMemoryMax=1G\nCPUQuota=50%\n");
        setenv("CLAUDE_PROFILE_SANDBOX_MEMORY_MAX", "3G", 1);
        setenv("CLAUDE_PROFILE_SANDBOX_CPUS", "many", 1);
        setenv("CLAUDE_PROFILE_SANDBOX_SSH_KEY", "x", 1);
        setenv("CLAUDE_PROFILE_SANDBOX", "1", 1);

        assert_int_equal(settings_load_file(&dirs, "work", &work), 0);
        check_warnings(work, WORK, warnings);
        assert_int_equal(strv_length(work->warnings), 2);
        assert_int_equal(work->sandbox, 1);
        settings_limits(work, &limits);
        assert_int_equal(limits.items[LIMIT_MEMORY_MAX].value, UINT64_C(1) << 30);
        assert_int_equal(limits.items[LIMIT_CPU_QUOTA].value, 5000);
        assert_false(limits.items[LIMIT_TASKS_MAX].set || limits.items[LIMIT_IO_WEIGHT].set);

        assert_int_equal(settings_load_file(&dirs, "other", &none), 0);
        assert_null(none->warnings);
        settings_limits(none, &limits);
        assert_true(limits_are_none(&limits));

        /* The environment's errors are said once, with the main file. */
        setenv("CLAUDE_PROFILE_SANDBOX", "maybe", 1);
        setenv("CLAUDE_PROFILE_PROFILES_BASE", "relative", 1);
        assert_int_equal(settings_load_file(&dirs, NULL, &main), 0);
        assert_string_equal(main->profiles_base, "/p");
        assert_int_equal(main->sandbox, -1);
        assert_int_equal(strv_length(main->warnings), 3);
        assert_string_equal(main->warnings[2], "CLAUDE_PROFILE_SANDBOX=maybe: expected yes or no");
        none = settings_free(none);
        assert_int_equal(settings_load_file(&dirs, "other", &none), 0);
        assert_null(none->warnings);

        /* Nor is a file that cannot be read an error. */
        (void) unlink(in_scratch(WORK));
        assert_int_equal(mkfifo(in_scratch(WORK), 0600), 0);
        work = settings_free(work);
        assert_int_equal(settings_load_file(&dirs, "work", &work), 0);
        check_warnings(work, WORK, (const char *const[]) { ": cannot be read: not a regular file", NULL });
}

/* A file of nothing but mistakes. */
static void test_many_warnings(void **state) {
        _cleanup_free_ char *text = malloc(1024 * 1024);
        _cleanup_settings_ Settings *s = NULL;
        const uint64_t begin = now_usec();
        size_t n = 0;

        while (n + 2 < 1024 * 1024)
                n += (size_t) sprintf(text + n, "x\n");
        scratch_write(MAIN, text, n);
        s = load(NULL);
        assert_int_equal(strv_length(s->warnings), 21);
        assert_non_null(strstr(s->warnings[20], ":21: and more of that kind below"));
        print_message("# %zu bytes of mistakes: %llu µs\n", n, (unsigned long long) (now_usec() - begin));

        s = settings_free(s);
        assert_int_equal(settings_load_file(&dirs, NULL, &s), 0);
        assert_int_equal(strv_length(s->warnings), 21);
}

static void test_limit_variables(void **state) {
        assert_string_equal(settings_limit_variable(LIMIT_MEMORY_MAX), "CLAUDE_PROFILE_SANDBOX_MEMORY_MAX");
        assert_string_equal(settings_limit_variable(LIMIT_CPU_WEIGHT), "CLAUDE_PROFILE_SANDBOX_CPU_WEIGHT");
        assert_null(settings_limit_variable(LIMIT_IO_WEIGHT));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_one_file, reset),
                cmocka_unit_test_setup(test_many_warnings, reset),
                cmocka_unit_test_setup(test_limit_variables, reset),
        };

        return cmocka_run_group_tests(tests, settings_setup, scratch_remove);
}
