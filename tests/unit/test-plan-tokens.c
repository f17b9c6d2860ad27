/* SPDX-License-Identifier: MIT */

/* Variables and tokens that are asked for: whose they are, and what is no token. gh is a stand-in. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

#define CREDENTIALS "home/.pulumi/credentials.json"

static Plan *plan(const char *said) {
        Plan *p = stage_plan();

        messages_begin();
        assert_int_equal(plan_tokens(p), 0);
        assert_said(messages_end(), said);
        return p;
}

static void assert_variable(const Plan *p, const char *name, const char *expected) {
        const char *value = strv_env_get(p->environment, name);

        if (!expected)
                assert_null(value);
        else
                assert_string_equal(value ?: "(none)", expected);
}

#define LIST(...) ((char *[]) { __VA_ARGS__, NULL })
#define A(s) ((char *) (s))

static void test_forward(void **state) {
        _cleanup_plan_ Plan *p = NULL, *unset = NULL, *profile = stage_plan();

        (void) setenv("T_ONE", "1 \"two\"\n", 1);
        (void) setenv("T_EMPTY", "", 1);
        (void) unsetenv("T_NONE");

        stage.settings.forward_env = LIST(A("T_ONE"), A("T_EMPTY"));
        p = plan(NULL);
        assert_variable(p, "T_ONE", "1 \"two\"\n");
        assert_variable(p, "T_EMPTY", "");
        assert_null(p->guest_env); /* podman's arguments */

        stage.settings.forward_env = LIST(A("T_NONE"));
        unset = plan("T_NONE is to be forwarded");
        assert_null(unset->environment);

        /* The profile's own counts, and is a place where it is set. */
        stage.settings.forward_env = LIST(A("T_ONE"), A("T_NONE"));
        assert_int_equal(strv_add_many(&profile->environment, "T_ONE=mine", "T_NONE=too", NULL), 0);
        messages_begin();
        assert_int_equal(plan_tokens(profile), 0);
        assert_string_equal(messages_end(), "");
        assert_variable(profile, "T_ONE", "mine");
        assert_int_equal(strv_length(profile->environment), 2);
        stage.settings.forward_env = NULL;
}

static void test_forward_refused(void **state) {
        static const char *const names[] = { "CLAUDE_CONFIG_DIR", "CLAUDE_SANDBOX_TOKEN", "1X", "a-b", "A=B", "\x1b[31m" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                _cleanup_plan_ Plan *p = stage_plan();

                stage.settings.forward_env = LIST(A(names[i]));
                messages_begin();
                assert_int_equal(plan_tokens(p), -EINVAL);
                assert_one_message(messages_end(), "cannot be forwarded");
        }
        stage.settings.forward_env = NULL;
}

static void test_gh(void **state) {
        static const struct {
                const char *script, *host, *variable, *token, *said;
        } rows[] = {
                { "[ \"$1 $2 $3\" = 'auth token --hostname' ] && echo tok-$4", NULL, "GH_TOKEN", "tok-github.com", NULL },
                { "echo tok-$4", "ghe.example.invalid", "GH_ENTERPRISE_TOKEN", "tok-ghe.example.invalid", NULL },
                { "echo tok-$4", "github.com", "GH_TOKEN", "tok-github.com", NULL },
                { "echo notice >&2; echo tok", NULL, "GH_TOKEN", "tok", NULL },
                { "printf tok", NULL, "GH_TOKEN", "tok", NULL },
                { "printf 'tok\\nmore\\n'", NULL, "GH_TOKEN", NULL, "its answer is no token" },
                { "echo Token: tok", NULL, "GH_TOKEN", NULL, "its answer is no token" },
                { "exit 0", NULL, "GH_TOKEN", NULL, "its answer is no token" },
                { "echo tok; exit 1", NULL, "GH_TOKEN", NULL, "it failed" },
                { "printf 'a\\0b'", NULL, "GH_TOKEN", NULL, "its answer is no token" },
                { "head -c 9999 /dev/zero | tr '\\0' a", NULL, "GH_TOKEN", NULL, "gh has no token" },
                { "read x && echo tok; exit 1", NULL, "GH_TOKEN", NULL, "it failed" }, /* nobody answers a prompt */
        };

        stage.settings.gh = true;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = NULL;

                stage_program("gh", rows[i].script);
                if (rows[i].host)
                        (void) setenv("GH_HOST", rows[i].host, 1);
                else
                        (void) unsetenv("GH_HOST");
                p = plan(rows[i].said);
                assert_variable(p, rows[i].variable, rows[i].token);
                assert_variable(p, "GH_HOST", streq(rows[i].variable, "GH_TOKEN") ? NULL : rows[i].host);
        }
        (void) unsetenv("GH_HOST");

        {
                _cleanup_plan_ Plan *p = NULL;

                assert_int_equal(unlink(in_scratch("bin/gh")), 0);
                p = plan("gh is not installed");
                assert_null(p->environment);
        }
        stage.settings.gh = false;
}

static void test_pulumi(void **state) {
        static const struct {
                const char *text, *token;
        } rows[] = {
                { "{\"current\":\"https://api.pulumi.com\",\"accessTokens\":{\"https://api.pulumi.com\":\"pul-1\",\"https://b\":\"pul-2\"}}", "pul-1" },
                { "{\"current\":\"https://b\",\"accessTokens\":{\"https://api.pulumi.com\":\"pul-1\",\"https://b\":\"pul-2\"}}", "pul-2" },
                { "{\"current\":\"file://~\",\"accessTokens\":{\"file://~\":\"pul-1\"}}", NULL },
                { "{\"current\":\"https://c\",\"accessTokens\":{\"https://b\":\"pul-2\"}}", NULL },
                { "{\"current\":7,\"accessTokens\":[]}", NULL },
                { "{\"current\":\"https://b\",\"accessTokens\":{\"https://b\":\"two\\nlines\"}}", NULL },
                { "[", NULL },
                { "", NULL },
                { NULL, NULL },
        };

        make_path("home/.pulumi");
        stage.settings.pulumi = true;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = NULL;

                (void) unlink(in_scratch(CREDENTIALS));
                if (rows[i].text)
                        scratch_puts(CREDENTIALS, rows[i].text);
                p = plan(rows[i].token ? NULL : "There is no token of a current https backend");
                assert_variable(p, "PULUMI_ACCESS_TOKEN", rows[i].token);
        }
        stage.settings.pulumi = false;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_forward),
                cmocka_unit_test(test_forward_refused),
                cmocka_unit_test(test_gh),
                cmocka_unit_test(test_pulumi),
        };

        return cmocka_run_group_tests(tests, stage_setup_programs, stage_teardown);
}
