/* SPDX-License-Identifier: MIT */

/* programs.json: what the launcher writes down for the supervisor. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "shared/host-programs.h"
#include "shared/launch-dir.h"

static int scratch_fd(void) {
        int fd;

        (void) unlink(in_scratch(LAUNCH_FILE_PROGRAMS));
        fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

static void test_there_and_back(void **state) {
        char *environment[] = { (char *) "DISPLAY=:0", (char *) "X=with \"quotes\"\n\\ and \xc3\xbc and \xff", NULL };
        const HostPrograms rows[] = {
                { .browser = (char *) "/opt/a b/chrome" },
                { .paste = (char *) "/usr/bin/wl-paste", .paste_program = PASTE_WL_PASTE, .environment = environment },
                { .browser = (char *) "/b", .paste = (char *) "/x", .paste_program = PASTE_XCLIP },
                {},
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_close_ int fd = scratch_fd();
                _cleanup_host_programs_ HostPrograms p = {};

                assert_int_equal(host_programs_write(fd, &rows[i]), 0);
                assert_int_equal(host_programs_read(fd, &p), 0);
                assert_int_equal(!p.browser, !rows[i].browser);
                if (p.browser)
                        assert_string_equal(p.browser, rows[i].browser);
                assert_int_equal(!p.paste, !rows[i].paste);
                if (p.paste)
                        assert_string_equal(p.paste, rows[i].paste);
                assert_int_equal(p.paste_program, rows[i].paste_program);
                assert_int_equal(strv_length(p.environment), strv_length(rows[i].environment));
                for (size_t k = 0; k < strv_length(p.environment); k++)
                        assert_string_equal(p.environment[k], rows[i].environment[k]);
        }
}

static void test_bad(void **state) {
        static const char *const rows[] = {
                "", "x", "[]", "null", "{}",
                "{\"environment\":[1]}",
                "{\"environment\":{}}",
                "{\"environment\":[],\"browser\":1}",
                "{\"environment\":[],\"browser\":\"chrome\"}",
                "{\"environment\":[],\"browser\":\"\"}",
                "{\"environment\":[],\"paste\":\"/x\"}",
                "{\"environment\":[],\"paste\":\"/x\",\"paste-program\":1}",
                "{\"environment\":[],\"paste\":\"/x\",\"paste-program\":\"sh\"}",
        };
        _cleanup_close_ int fd = scratch_fd();
        HostPrograms p = {};

        assert_int_equal(host_programs_read(fd, &p), -ENOENT);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                scratch_puts(LAUNCH_FILE_PROGRAMS, rows[i]);
                if (host_programs_read(fd, &p) != -EBADMSG)
                        fail_msg("taken: %s", rows[i]);
                assert_null(p.browser);
                assert_null(p.paste);
                assert_null(p.environment);
        }

        assert_int_equal(unlink(in_scratch(LAUNCH_FILE_PROGRAMS)), 0);
        assert_int_equal(symlink("elsewhere", in_scratch(LAUNCH_FILE_PROGRAMS)), 0);
        assert_true(host_programs_read(fd, &p) < 0);
}

/* The display and what belongs to a desktop; no token, nothing that loads code. */
static void test_environment(void **state) {
        static const char *const given[] = { "HOME", "PATH", "LANG", "LC_CTYPE", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP",
                "WAYLAND_DISPLAY", "DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS" };
        static const char *const kept_away[] = { "LD_PRELOAD_X", "ANTHROPIC_API_KEY", "GH_TOKEN", "SSH_AUTH_SOCK", "DISPLAYS",
                "NOTIFY_SOCKET", "CLAUDE_CONFIG_DIR" };
        _cleanup_strv_ char **env = NULL;

        for (size_t i = 0; i < ELEMENTSOF(given); i++)
                assert_int_equal(setenv(given[i], "yes", 1), 0);
        for (size_t i = 0; i < ELEMENTSOF(kept_away); i++)
                assert_int_equal(setenv(kept_away[i], "no", 1), 0);

        assert_int_equal(host_programs_environment(&env), 0);
        for (size_t i = 0; i < ELEMENTSOF(given); i++)
                assert_string_equal(strv_env_get(env, given[i]), "yes");
        STRV_FOREACH(e, env)
                assert_null(strstr(*e, "=no"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back),
                cmocka_unit_test(test_bad),
                cmocka_unit_test(test_environment),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
