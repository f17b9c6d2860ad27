/* SPDX-License-Identifier: MIT */

/* A report from beginning to end, by a launcher and for one that died, and what the next launch is shown. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "scratch.h"
#include "shared/launch-dir.h"
#include "shared/trust-session.h"
#include "trust-stage.h"

#define ID "0123abcd"
#define LEFT "data/profiles/work/unreported/"

static Dirs dirs;
static TrustSession session;

/* A launch directory, a data directory, and a session that has begun. */
static void begin(const char *script) {
        _cleanup_trust_scope_ TrustScope scope = stage_scope();
        _cleanup_free_ char *whole = NULL;
        static char data[PATH_MAX + 256], runtime[PATH_MAX + 256];

        (void) snprintf(data, sizeof(data), "%s", in_scratch("data"));
        (void) snprintf(runtime, sizeof(runtime), "%s", in_scratch("run"));
        dirs = (Dirs) { .data = data, .runtime = runtime };
        assert_true(asprintf_to(&whole, STAGE_NEW "rm -rf run data; mkdir -p run/work-" ID "; %s", script) >= 0);
        shell(whole);

        session = (TrustSession) { .dirs = &dirs, .profile = "work", .id = ID };
        session.dir_fd = open(in_scratch("run/work-" ID), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        scratch_puts("run/work-" ID "/" LAUNCH_FILE_DIRECTORY, "/the/dir\nectory");
        assert_int_equal(trust_session_begin(&session, &scope, NULL), 0);
        assert_int_equal(access(in_scratch(LEFT ID ".open"), F_OK), 0);
}

static void end(void) {
        session.dir_fd = fd_close(session.dir_fd);
        shell("rm -rf run data");
}

static char *shown(void) {
        char *text = NULL;
        size_t n;
        FILE *f = open_memstream(&text, &n);

        assert_non_null(f);
        trust_session_show_left(&dirs, "work", false, f);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void assert_shown(const char *expected) {
        _cleanup_free_ char *text = shown();

        assert_string_equal(text, expected);
}

static void test_launcher(void **state) {
        _cleanup_trust_changes_ TrustChanges changes = { 0 };
        _cleanup_free_ char *text = NULL;

        begin("");
        assert_shown(""); /* it goes on */
        shell("echo x >work/.envrc");
        assert_int_equal(trust_session_compare(&session, &changes), 0);
        text = changes_to_text(&changes);
        assert_string_equal(text, "new .envrc\n");
        trust_session_end(&session);
        assert_int_equal(access(in_scratch(LEFT ID ".open"), F_OK), -1);
        shell("rm -r run");
        assert_shown("");
        end();
}

static void test_left(void **state) {
        static const char expected[] =
                "Launch " ID " in /the/dir\\x0aectory ended, and nobody saw its report:\n"
                "Changed while the sandbox ran; the host will run or obey it:\n"
                "  direnv: shell code\n"
                "    new      .envrc\n";

        begin("");
        shell("echo x >work/.envrc");
        assert_int_equal(trust_session_leave(&session), 0);
        shell("rm -r run");
        assert_shown(expected);
        assert_shown("");
        end();

        /* Nothing changed, nothing left. */
        begin("");
        assert_int_equal(trust_session_leave(&session), 0);
        shell("test -z \"$(ls " LEFT ")\"; rm -r run");
        assert_shown("");
        end();
}

static void test_lost(void **state) {
        begin("");
        shell("rm -r run"); /* as a machine that goes down does it */
        assert_non_null(strstr(scratch, "/"));
        {
                _cleanup_free_ char *text = shown(), *expected = NULL;

                assert_true(asprintf_to(&expected, "An earlier session of profile work (launch " ID " in %s/work/sub) ended without a report: "
                                            "what it changed of\nthat which the host will run or obey is not known.\n", scratch) >= 0);
                assert_string_equal(text, expected);
        }
        assert_shown("");
        end();
}

static void test_failures(void **state) {
        _cleanup_trust_changes_ TrustChanges changes = { 0 };
        _cleanup_trust_scope_ TrustScope scope = stage_scope();
        _cleanup_free_ char *text = NULL;

        /* Its directories are gone. */
        begin("");
        shell("rm -r work");
        assert_int_equal(trust_session_compare(&session, &changes), -ENOTDIR);
        assert_int_equal(trust_session_leave(&session), -ENOTDIR);
        shell("rm -r run");
        text = shown();
        assert_non_null(strstr(text, "\n  what it changed could not be looked at (Not a directory).\n"));
        end();

        /* It never began: the launcher died before. */
        begin("");
        shell("rm run/work-" ID "/trust-before " LEFT ID ".open");
        assert_int_equal(trust_session_compare(&session, &changes), -ENOENT);
        assert_int_equal(trust_session_leave(&session), 0);
        assert_shown("");
        end();

        /* Without a mark nothing begins. */
        begin("");
        shell("rm run/work-" ID "/trust-*; rm -r data; : >data");
        assert_true(trust_session_begin(&session, &scope, NULL) < 0);
        end();
}

/* Whatever else lies there is neither shown nor removed; what is too large, or no file, neither. */
static void test_odd_files(void **state) {
        begin("");
        trust_session_end(&session);
        shell("cd " LEFT "; echo x >notes; mkfifo a.report; ln -s /etc/passwd b.report; mkdir c.report; echo x >.hidden.report; "
              "head -c 100000 /dev/zero >d.report; printf 'e\\033[2J\\n  f' >e.report");
        assert_shown("e\\x1b[2J\n  f\n");
        shell("cd " LEFT "; test \"$(ls | wc -l)\" = 5");
        end();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_launcher),
                cmocka_unit_test(test_left),
                cmocka_unit_test(test_lost),
                cmocka_unit_test(test_failures),
                cmocka_unit_test(test_odd_files),
        };

        return cmocka_run_group_tests(tests, scratch_make, stage_remove);
}
