/* SPDX-License-Identifier: MIT */

/* What runs in the guest, and with which variables. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

#define SKIP "--dangerously-skip-permissions"
#define PROMPT "--append-system-prompt", BRIEFING
#define BRIEFING "(briefing)"

static Plan *plan(char *const *args, bool shell) {
        Plan *p;

        stage.request.args = args;
        stage.request.shell = shell;
        p = stage_plan();
        assert_int_equal(strdup_to(&p->work_root, in_scratch("home/project")), 0);
        messages_begin();
        assert_int_equal(plan_claude(p), 0);
        assert_string_equal(messages_end(), "");
        return p;
}

static void assert_command(const Plan *p, const char *const *expected) {
        size_t n = 0;

        for (; expected[n]; n++) {
                assert_non_null(p->command[n]);
                if (streq(expected[n], BRIEFING))
                        assert_non_null(strstr(p->command[n], "You work in a sandbox"));
                else
                        assert_string_equal(p->command[n], expected[n]);
        }
        assert_null(p->command[n]);
}

static const PlanFile *find_file(const Plan *p, const char *name) {
        for (size_t i = 0; i < p->n_files; i++)
                if (streq(p->files[i].name, name))
                        return &p->files[i];

        fail_msg("no file %s is planned", name);
        return NULL;
}

#define ARGS(...) ((char *const[]) { __VA_ARGS__, NULL })
#define EXPECTED(...) ((const char *const[]) { __VA_ARGS__, NULL })
#define A(s) ((char *) (s))

static void test_command(void **state) {
        static const struct {
                char *args[6];
                const char *expected[10];
        } rows[] = {
                { { NULL }, { "claude", SKIP, PROMPT } },
                { { A("-p"), A("hello") }, { "claude", SKIP, PROMPT, "-p", "hello" } },
                /* As it is, any byte. */
                { { A(""), A("a b"), A("\"'\n"), A("$x") }, { "claude", SKIP, PROMPT, "", "a b", "\"'\n", "$x" } },
                { { A(SKIP) }, { "claude", PROMPT, SKIP } },
                { { A("-p"), A("--permission-mode"), A("plan") }, { "claude", PROMPT, "-p", "--permission-mode", "plan" } },
                { { A("--permission-mode=plan") }, { "claude", PROMPT, "--permission-mode=plan" } },
                { { A("--permission-modes") }, { "claude", SKIP, PROMPT, "--permission-modes" } },
                { { A("--append-system-prompt"), A("mine") }, { "claude", SKIP, "--append-system-prompt", "mine" } },
                { { A("--append-system-prompt=mine") }, { "claude", SKIP, "--append-system-prompt=mine" } },
                { { A("x"), A("--"), A("--append-system-prompt") }, { "claude", SKIP, PROMPT, "x", "--", "--append-system-prompt" } },
                /* Behind "--" it is an argument; ours stands before it. */
                { { A("mcp"), A("add"), A("--"), A("--permission-mode") }, { "claude", SKIP, PROMPT, "mcp", "add", "--", "--permission-mode" } },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = plan(rows[i].args, false);

                assert_command(p, rows[i].expected);
        }

        stage.settings.skip_permissions = false;
        {
                _cleanup_plan_ Plan *p = plan(ARGS(A("x")), false);

                assert_command(p, EXPECTED("claude", PROMPT, "x"));
        }
        stage.settings.skip_permissions = true;
}

static void test_chrome(void **state) {
        _cleanup_plan_ Plan *with = NULL, *given = NULL, *not = NULL;

        stage.settings.chrome = true;
        with = plan(ARGS(A("x")), false);
        given = plan(ARGS(A("--chrome")), false);
        not = plan(ARGS(A("--no-chrome")), false);
        stage.settings.chrome = false;

        assert_command(with, EXPECTED("claude", SKIP, "--chrome", PROMPT, "x"));
        assert_command(given, EXPECTED("claude", SKIP, PROMPT, "--chrome"));
        assert_command(not, EXPECTED("claude", SKIP, PROMPT, "--no-chrome"));
}

/* A login that cannot use the browser gets a warning, wherever --chrome comes from, and none where it is not wanted. */
static void test_chrome_login(void **state) {
        static const struct {
                const char *text;
                bool warns;
        } rows[] = {
                { NULL, false },
                { "{\"claudeAiOauth\":{\"accessToken\":\"s3cret\",\"scopes\":[\"user:inference\"]}}", true },
                { "{\"claudeAiOauth\":{\"scopes\":[]}}", true },
                { "{\"claudeAiOauth\":{\"scopes\":[7,\"user:profiles\",\"xuser:profile\"]}}", true },
                { "{\"claudeAiOauth\":{\"scopes\":[\"user:inference\",\"user:profile\"]}}", false },
                { "{\"claudeAiOauth\":{\"scopes\":[\"user:office\"]}}", false },
                { "{\"claudeAiOauth\":{\"scopes\":[\"user:ccr_inference\"]}}", false },
                { "{\"claudeAiOauth\":{\"scopes\":\"user:profile\"}}", false },
                { "{\"claudeAiOauth\":[]}", false }, { "{}", false }, { "[", false }, { "", false }, { "null", false },
        };
        static const char file[] = "home/.claude-profiles/" STAGE_PROFILE "/.credentials.json";
        static char chrome[] = "--chrome", no_chrome[] = "--no-chrome";
        static char *const asked[] = { chrome, NULL }, *const refused[] = { no_chrome, NULL };

        for (size_t i = 0; i < 3 * ELEMENTSOF(rows); i++) {
                const bool warns = rows[i / 3].warns && i % 3 != 2;
                _cleanup_plan_ Plan *p = NULL;
                const char *said;

                (void) unlink(in_scratch(file));
                if (rows[i / 3].text)
                        scratch_puts(file, rows[i / 3].text);
                stage.settings.chrome = i % 3 != 1;
                stage.request.args = i % 3 == 0 ? NULL : i % 3 == 1 ? asked : refused;
                stage.request.shell = false;
                p = stage_plan();
                assert_int_equal(strdup_to(&p->work_root, in_scratch("home/project")), 0);
                messages_begin();
                assert_int_equal(plan_claude(p), 0);
                said = messages_end();
                if (warns)
                        assert_one_message(said, "The login of profile " STAGE_PROFILE " does not allow --chrome");
                else
                        assert_string_equal(said, "");
                assert_null(strstr(said, "s3cret"));
        }

        /* A guest may have put a link there. */
        scratch_puts("elsewhere", rows[1].text);
        (void) unlink(in_scratch(file));
        assert_int_equal(symlink(in_scratch("elsewhere"), in_scratch(file)), 0);
        stage.settings.chrome = true;
        {
                _cleanup_plan_ Plan *p = plan(NULL, false);

                assert_non_null(p);
        }
        assert_int_equal(unlink(in_scratch(file)), 0);
        stage.settings.chrome = false;
}

/* What claude is told is so: places and agents are those of the plan, names that drive a terminal are escaped. */
static void test_briefing(void **state) {
        static const struct {
                bool ssh, gpg;
                Isolation isolation;
                const char *says[4], *not;
        } rows[] = {
                { false, false, ISOLATION_KRUN, { "small virtual machine", "no ssh-agent", "no gpg-agent", "- /w (work root)" }, "SSH_AUTH_SOCK" },
                { true, true, ISOLATION_CONTAINER, { "a container", "SSH_AUTH_SOCK", "- /r\\x1b (odd)" }, "no gpg-agent" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = stage_plan();
                _cleanup_free_ char *text = NULL;

                assert_int_equal(plan_add_mount(p, MOUNT_BIND, "/w", "/w", 0, "work root"), 0);
                assert_int_equal(plan_add_mount(p, MOUNT_BIND, "/r", "/r\x1b", MOUNT_READ_ONLY, "odd"), 0);
                assert_int_equal(plan_add_mount(p, MOUNT_TMPFS, NULL, "/t", 0, "tmpfs"), 0);
                if (rows[i].ssh)
                        assert_int_equal(plan_add_service(p, (ServiceId) { .kind = SERVICE_SSH }, "/x", "/y"), 0);
                stage.settings.gpg_agent = rows[i].gpg;
                stage.settings.isolation = rows[i].isolation;
                assert_int_equal(plan_briefing(p, &text), 0);
                for (size_t k = 0; k < ELEMENTSOF(rows[i].says) && rows[i].says[k]; k++)
                        assert_contains(text, rows[i].says[k]);
                assert_null(strstr(text, rows[i].not));
                assert_null(strstr(text, "/t ("));
        }
        stage.settings.gpg_agent = false;
        stage.settings.isolation = ISOLATION_KRUN;
}

static void test_shell(void **state) {
        _cleanup_plan_ Plan *command = plan(ARGS(A("ls"), A("--permission-mode")), true), *shell = plan(ARGS(NULL), true);

        assert_command(command, EXPECTED("ls", "--permission-mode"));
        assert_string_equal(shell->command[0], "/bin/sh");
}

/* The file that the guest reads: strings one behind the other, any byte but NUL in each, none of it in podman's arguments. */
static void test_files(void **state) {
        static const char expected_command[] = "claude\0" SKIP "\0--append-system-prompt\0mine\0\0a\nb\0", expected_environment[] = "TOKEN=s3cret\0MULTI=l1\nl2\0EMPTY=\0";
        _cleanup_plan_ Plan *p = NULL;
        const PlanFile *f;

        scratch_puts("home/.claude-profiles/" STAGE_PROFILE "/.env", "TOKEN=s3cret\nMULTI=\"l1\\nl2\"\nEMPTY=\n");
        p = plan(ARGS(A("--append-system-prompt"), A("mine"), A(""), A("a\nb")), false);

        f = find_file(p, "guest/command");
        assert_int_equal(f->size, sizeof(expected_command) - 1);
        assert_memory_equal(f->data, expected_command, f->size);
        f = find_file(p, "guest/environment");
        assert_int_equal(f->size, sizeof(expected_environment) - 1);
        assert_memory_equal(f->data, expected_environment, f->size);

        STRV_FOREACH(e, p->guest_env)
                assert_null(strstr(*e, "s3cret"));
        assert_int_equal(unlink(in_scratch("home/.claude-profiles/" STAGE_PROFILE "/.env")), 0);
}

static void test_environment(void **state) {
        _cleanup_plan_ Plan *p = NULL, *bare = NULL;

        (void) setenv("TERM", "xterm-256color", 1);
        (void) setenv("COLORTERM", "truecolor", 1);
        (void) setenv("ANTHROPIC_API_KEY", "secret", 1);
        p = plan(ARGS(NULL), false);
        assert_int_equal(strv_length(p->guest_env), 3);
        assert_string_equal(strv_env_get(p->guest_env, "CLAUDE_CONFIG_DIR"), "/home/appuser/.claude");
        assert_string_equal(strv_env_get(p->guest_env, "TERM"), "xterm-256color");
        assert_string_equal(strv_env_get(p->guest_env, "COLORTERM"), "truecolor");
        assert_int_equal(strv_length(p->environment), 0);

        (void) setenv("TERM", "", 1);
        (void) unsetenv("COLORTERM");
        bare = plan(ARGS(NULL), false);
        assert_int_equal(strv_length(bare->guest_env), 1);
}

static void test_broken_env_file(void **state) {
        _cleanup_plan_ Plan *p = NULL;
        int r;

        scratch_puts("home/.claude-profiles/" STAGE_PROFILE "/.env", "TOKEN=\"s3cret\n");
        stage.request.args = ARGS(NULL);
        p = stage_plan();
        messages_begin();
        r = plan_claude(p);
        assert_true(r < 0);
        {
                const char *text = messages_end();

                assert_one_message(text, "/.env");
                assert_null(strstr(text, "s3cret"));
        }
        assert_int_equal(unlink(in_scratch("home/.claude-profiles/" STAGE_PROFILE "/.env")), 0);
}

/* A native claude in `where` is the setting. */
static void install_claude(const char *where) {
        char name[256];

        (void) snprintf(name, sizeof(name), "%s/claude/versions", where);
        make_path(name);
        (void) snprintf(name, sizeof(name), "%s/claude/versions/1.2.3", where);
        scratch_puts(name, "x");
        assert_int_equal(chmod(in_scratch(name), 0755), 0);
        (void) snprintf(stage.claude, sizeof(stage.claude), "%s", in_scratch(name));
}

static void test_native_claude(void **state) {
        _cleanup_plan_ Plan *p = NULL;

        install_claude("home/.local/share");

        p = plan(ARGS(NULL), false);
        assert_int_equal(p->n_mounts, 1);
        assert_string_equal(p->mounts[0].source, in_scratch("home/.local/share/claude-profile/claude/1.2.3"));
        assert_string_equal(p->mounts[0].target, "/opt/claude-host/claude");
        assert_int_equal(p->mounts[0].flags, MOUNT_READ_ONLY | MOUNT_RELABEL);
        assert_string_equal(strv_env_get(p->guest_env, "DISABLE_AUTOUPDATER"), "1");
        /* A plan changes nothing. */
        assert_int_equal(access(in_scratch("home/.local/share/claude-profile"), F_OK), -1);
}

/* One that a guest could have written is none. */
static void test_planted_claude(void **state) {
        static const char *const places[] = { "home/project/node_modules", "home/.claude-profiles/" STAGE_PROFILE };

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_plan_ Plan *p = NULL;

                install_claude(places[i]);
                p = plan(ARGS(NULL), false);
                assert_int_equal(p->n_mounts, 0);
                assert_null(p->native.source);
                assert_null(strv_env_get(p->guest_env, "DISABLE_AUTOUPDATER"));
        }
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        stage_make();
        make_path("empty");
        (void) setenv("PATH", in_scratch("empty"), 1);
        (void) unsetenv("TERM");
        (void) unsetenv("COLORTERM");
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_command),
                cmocka_unit_test(test_chrome),
                cmocka_unit_test(test_chrome_login),
                cmocka_unit_test(test_briefing),
                cmocka_unit_test(test_shell),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_environment),
                cmocka_unit_test(test_broken_env_file),
                cmocka_unit_test(test_native_claude),
                cmocka_unit_test(test_planted_claude),
        };

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
