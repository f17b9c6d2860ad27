/* SPDX-License-Identifier: MIT */

/* Clipboard and browser in a plan; the programs of the host are empty stand-ins that are only looked for. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pwd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

static void make_program(const char *name) {
        scratch_puts(name, "#!/bin/sh\n");
        assert_int_equal(chmod(in_scratch(name), 0755), 0);
}

/* The display: NULL for none. */
static void set_display(const char *wayland, const char *x11) {
        (void) unsetenv("WAYLAND_DISPLAY");
        (void) unsetenv("DISPLAY");
        if (wayland)
                assert_int_equal(setenv("WAYLAND_DISPLAY", wayland, 1), 0);
        if (x11)
                assert_int_equal(setenv("DISPLAY", x11, 1), 0);
}

static Plan *plan(bool clipboard, bool chrome, const char *message) {
        Plan *p = stage_plan();
        const char *text;

        stage.settings.clipboard = clipboard;
        stage.settings.chrome = chrome;
        messages_begin();
        assert_int_equal(plan_desktop(p), 0);
        text = messages_end();
        if (message)
                assert_one_message(text, message);
        else
                assert_string_equal(text, "");
        return p;
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;

        stage_make();
        scratch_mkdir("bin");
        return setenv("PATH", in_scratch("bin"), 1);
}

static void test_not_asked(void **state) {
        _cleanup_plan_ Plan *p = NULL;

        set_display("wayland-0", ":0");
        make_program("bin/wl-paste");
        make_program("bin/google-chrome");
        p = plan(false, false, NULL);
        assert_int_equal(p->n_services, 0);
        assert_null(p->programs.paste);
        assert_null(p->programs.browser);
        assert_null(p->programs.environment);
}

static void test_clipboard(void **state) {
        _cleanup_plan_ Plan *wayland = NULL, *x11 = NULL;

        make_program("bin/xclip");
        set_display("wayland-0", ":0");
        wayland = plan(true, false, NULL);
        assert_int_equal(wayland->n_services, 1);
        assert_int_equal(wayland->services[0].id.kind, SERVICE_CLIPBOARD);
        assert_null(wayland->services[0].host_path);
        assert_null(wayland->services[0].guest_path);
        assert_string_equal(wayland->programs.paste, in_scratch("bin/wl-paste"));
        assert_int_equal(wayland->programs.paste_program, PASTE_WL_PASTE);
        assert_string_equal(strv_env_get(wayland->programs.environment, "WAYLAND_DISPLAY"), "wayland-0");

        set_display("", ":0");
        x11 = plan(true, false, NULL);
        assert_int_equal(x11->n_services, 1);
        assert_string_equal(x11->programs.paste, in_scratch("bin/xclip"));
        assert_int_equal(x11->programs.paste_program, PASTE_XCLIP);
}

static void test_no_clipboard(void **state) {
        _cleanup_plan_ Plan *no_display = NULL, *no_wl_paste = NULL, *no_xclip = NULL;

        set_display(NULL, NULL);
        no_display = plan(true, false, "neither WAYLAND_DISPLAY nor DISPLAY is set");
        assert_int_equal(no_display->n_services, 0);

        assert_int_equal(unlink(in_scratch("bin/wl-paste")), 0);
        assert_int_equal(unlink(in_scratch("bin/xclip")), 0);
        set_display("wayland-0", NULL);
        no_wl_paste = plan(true, false, "Install the package wl-clipboard.");
        assert_int_equal(no_wl_paste->n_services, 0);
        set_display(NULL, ":0");
        no_xclip = plan(true, false, "Install the package xclip.");
        assert_int_equal(no_xclip->n_services, 0);
        assert_null(no_xclip->programs.environment);
}

static void test_chrome(void **state) {
        _cleanup_plan_ Plan *stable = NULL, *first = NULL, *set = NULL, *by_name = NULL;
        const struct passwd *pw = getpwuid(getuid());
        _cleanup_free_ char *directory = NULL;

        assert_non_null(pw);
        assert_int_equal(asprintf_to(&directory, "/tmp/claude-mcp-browser-bridge-%s", pw->pw_name), 0);

        /* Whatever the environment says of the user's name. */
        assert_int_equal(setenv("USER", "mallory", 1), 0);
        set_display("wayland-0", NULL);
        assert_int_equal(unlink(in_scratch("bin/google-chrome")), 0);
        make_program("bin/google-chrome-stable");
        stable = plan(false, true, NULL);
        assert_string_equal(stable->programs.browser, in_scratch("bin/google-chrome-stable"));
        assert_int_equal(stable->n_services, 2);
        assert_int_equal(stable->services[0].id.kind, SERVICE_OPEN);
        assert_null(stable->services[0].host_path);
        assert_null(stable->services[0].guest_path);
        assert_int_equal(stable->services[1].id.kind, SERVICE_CHROME);
        assert_string_equal(stable->services[1].host_path, directory);
        assert_string_equal(stable->services[1].guest_path, "/tmp/claude-mcp-browser-bridge-appuser/host.sock");
        assert_string_equal(strv_env_get(stable->programs.environment, "WAYLAND_DISPLAY"), "wayland-0");

        make_program("bin/google-chrome");
        first = plan(false, true, NULL);
        assert_string_equal(first->programs.browser, in_scratch("bin/google-chrome"));

        make_program("bin/chromium");
        stage.settings.chrome_bin = (char *) "chromium";
        by_name = plan(false, true, NULL);
        assert_string_equal(by_name->programs.browser, in_scratch("bin/chromium"));
        stage.settings.chrome_bin = (char *) in_scratch("bin/chromium");
        set = plan(false, true, NULL);
        assert_string_equal(set->programs.browser, in_scratch("bin/chromium"));
        stage.settings.chrome_bin = NULL;
}

/* The native host may be reached without a browser that opens pages. */
static void test_no_browser(void **state) {
        static const char *const bad[] = { "nowhere", "bin/google-chrome", "/nowhere/chrome", "/", "esc\x1b[2J" };

        for (size_t i = 0; i < ELEMENTSOF(bad); i++) {
                _cleanup_plan_ Plan *p = NULL;

                stage.settings.chrome_bin = (char *) bad[i];
                p = plan(false, true, "cannot be used");
                assert_null(p->programs.browser);
                assert_int_equal(p->n_services, 1);
                assert_int_equal(p->services[0].id.kind, SERVICE_CHROME);
        }
        stage.settings.chrome_bin = NULL;
}

/* What a guest can write is not executed on the host, whatever link leads there. */
static void test_guests_programs(void **state) {
        static const char *const places[] = { "home/.claude-profiles/" STAGE_PROFILE "/wrap", "home/project/wrap" };

        make_path("home/project");
        set_display("wayland-0", NULL);
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_plan_ Plan *p = stage_plan();
                char target[PATH_MAX];

                make_program(places[i]);
                (void) snprintf(target, sizeof(target), "%s", in_scratch(places[i]));
                (void) unlink(in_scratch("bin/google-chrome"));
                (void) unlink(in_scratch("bin/wl-paste"));
                assert_int_equal(symlink(target, in_scratch("bin/google-chrome")), 0);
                assert_int_equal(symlink(target, in_scratch("bin/wl-paste")), 0);
                assert_int_equal(strdup_to(&p->work_root, in_scratch("home/project")), 0);

                stage.settings.clipboard = stage.settings.chrome = true;
                messages_begin();
                assert_int_equal(plan_desktop(p), 0);
                (void) messages_end();
                assert_null(p->programs.browser);
                assert_null(p->programs.paste);
        }
        (void) unlink(in_scratch("bin/google-chrome"));
        (void) unlink(in_scratch("bin/wl-paste"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_guests_programs),
                cmocka_unit_test(test_not_asked),
                cmocka_unit_test(test_clipboard),
                cmocka_unit_test(test_no_clipboard),
                cmocka_unit_test(test_chrome),
                cmocka_unit_test(test_no_browser),
        };

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
