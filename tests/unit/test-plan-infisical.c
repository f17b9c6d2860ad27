/* SPDX-License-Identifier: MIT */

/* Infisical's logins: which ones the setting names, what the key ring must say of them, and what the sandbox gets. secret-tool is a
 * stand-in, and the tokens are made up. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/token.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

#define GOOD "h.eyJleHAiOjQxMDI0NDQ4MDB9.s"
#define OLD "h.eyJleHAiOjE1MDAwMDAwMDB9.s"
#define FRACTION "h.eyJleHAiOjQxMDI0NDQ4MDAuNSwibiI6IsO8w78-Pj4_Pz8ifQ.s" /* with digits that only base64url has */
#define SECRET(token) "echo '{\"email\":\"x\",\"privateKey\":\"\",\"JTWToken\":\"" token "\"}'"
#define USERS "{\"loggedInUserEmail\":\"b@corp.example\",\"loggedInUsers\":[" \
        "{\"email\":\"a@corp.example\",\"domain\":\"https://app.infisical.com/api\"}," \
        "{\"email\":\"b@corp.example\",\"domain\":\"https://eu.infisical.com/api\"}," \
        "{\"email\":\"C@Other.example\",\"domain\":\"https://vault.self.example:8443/api\"}]}"

static void configure(const char *text) {
        make_path("home/.infisical");
        if (text)
                scratch_puts("home/.infisical/infisical-config.json", text);
        else
                (void) unlink(in_scratch("home/.infisical/infisical-config.json"));
}

static Plan *plan(const char *allowed, const char *said) {
        _cleanup_strv_ char **list = NULL;
        Plan *p = stage_plan();
        const char *text;

        assert_int_equal(strv_split(allowed, ',', &list), 0);
        stage.settings.infisical = list;
        messages_begin();
        assert_int_equal(plan_infisical(p), 0);
        text = messages_end();
        assert_said(text, said);
        assert_null(strstr(text, GOOD));
        assert_null(strstr(text, OLD));
        stage.settings.infisical = NULL;
        return p;
}

static void assert_variable(const Plan *p, const char *name, const char *expected) {
        const char *value = strv_env_get(p->environment, name);

        assert_string_equal(value ?: "(none)", expected ?: "(none)");
}

/* Equal addresses; equal domains or parents of them, of the address or of the login's host. Nothing that is merely contained. */
static void test_selection(void **state) {
        static const struct {
                const char *allowed, *emails; /* of those that are looked up */
        } rows[] = {
                { "a@corp.example", "a@corp.example" },
                { "A@CORP.example", "a@corp.example" },
                { "corp.example", "a@corp.example b@corp.example" },
                { "example", "a@corp.example b@corp.example C@Other.example" },
                { "eu.infisical.com", "b@corp.example" },
                { "infisical.com", "a@corp.example b@corp.example" },
                { "self.example", "C@Other.example" },
                { "other.example,a@corp.example,corp.example", "a@corp.example b@corp.example C@Other.example" },
                { "orp.example", NULL }, { "corp", NULL }, { "@corp.example", NULL }, { "infisical.co", NULL }, { "api", NULL }, { "8443", NULL },
                { "corp.example.", NULL }, { ".", NULL }, { "a@corp", NULL }, { "\x1b[2J", NULL },
        };

        configure(USERS);
        stage_program("secret-tool", "[ \"$1 $2 $3 $4\" = 'lookup service infisical-cli username' ] || exit 1; printf '%s ' \"$5\" >>\"$HOME/asked\"; " SECRET(GOOD));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *asked = NULL;
                _cleanup_plan_ Plan *p = NULL;

                (void) unlink(in_scratch("home/asked"));
                p = plan(rows[i].allowed, rows[i].emails ? NULL : "which is no login of Infisical's here");
                assert_variable(p, "INFISICAL_TOKEN", rows[i].emails ? GOOD : NULL);
                if (!rows[i].emails) {
                        assert_null(p->environment);
                        assert_int_equal(access(in_scratch("home/asked"), F_OK), -1);
                        continue;
                }
                assert_int_equal(io_read_file_at(AT_FDCWD, in_scratch("home/asked"), KIB, &asked, NULL), 0);
                asked[strlen(asked) - 1] = '\0';
                assert_string_equal(asked, rows[i].emails);
                assert_null(p->guest_env);
        }
}

/* Only what is a token that lasts is handed over; whatever else comes is one warning, and the launch goes on. */
static void test_answers(void **state) {
        static const struct {
                const char *script, *token, *said;
        } rows[] = {
                { SECRET(GOOD), GOOD, NULL },
                { SECRET(FRACTION), FRACTION, NULL },
                { "echo notice >&2; " SECRET(GOOD), GOOD, NULL },
                { SECRET(OLD), NULL, "has expired" },
                { SECRET("h.eyJpYXQiOjF9.s"), NULL, "has expired" },
                { SECRET("h.eyJleHAiOiI0MTAyNDQ0ODAwIn0.s"), NULL, "has expired" },
                { SECRET("h.e30"), NULL, "has expired" },
                { SECRET("h.!!!!.s"), NULL, "has expired" },
                { SECRET("two words"), NULL, "its answer is no token" },
                { SECRET("a\\u0000b"), NULL, "its answer is no token" },
                { SECRET(""), NULL, "its answer is no token" },
                { "echo '{}'", NULL, "its answer is no token" },
                { "echo '[]'", NULL, "its answer is no token" },
                { "echo 'Token: " GOOD "'", NULL, "its answer is no token" },
                { "echo " GOOD, NULL, "its answer is no token" },
                { "exit 0", NULL, "its answer is no token" },
                { SECRET(GOOD) "; exit 1", NULL, "it failed" },
                { "read answer && " SECRET(GOOD) "; exit 1", NULL, "it failed" }, /* nobody answers a prompt */
                { "head -c 99999 /dev/zero | tr '\\0' a", NULL, "has no token" },
        };

        configure(USERS);
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = NULL;

                stage_program("secret-tool", rows[i].script);
                p = plan("a@corp.example", rows[i].said);
                assert_variable(p, "INFISICAL_TOKEN", rows[i].token);
                assert_variable(p, "INFISICAL_DOMAIN", rows[i].token ? "https://app.infisical.com/api" : NULL);
        }

        {
                _cleanup_plan_ Plan *p = NULL;

                assert_int_equal(unlink(in_scratch("bin/secret-tool")), 0);
                p = plan("a@corp.example", "secret-tool: not installed");
                assert_null(p->environment);
        }
}

static void test_variables(void **state) {
        static const char all[] = "[{\"email\":\"a@corp.example\",\"domain\":\"https://app.infisical.com/api\",\"token\":\"" GOOD "\"},"
                "{\"email\":\"b@corp.example\",\"domain\":\"https://eu.infisical.com/api\",\"token\":\"" GOOD "\"}]";
        _cleanup_plan_ Plan *both = NULL, *first = NULL, *expired = NULL;

        configure(USERS);
        stage_program("secret-tool", SECRET(GOOD));
        both = plan("corp.example", NULL);
        assert_variable(both, "INFISICAL_API_URL", "https://eu.infisical.com/api"); /* the one in use */
        assert_variable(both, "INFISICAL_DOMAIN", "https://eu.infisical.com/api");
        assert_variable(both, "CLAUDE_SANDBOX_INFISICAL", all);

        first = plan("other.example,a@corp.example", NULL);
        assert_variable(first, "INFISICAL_API_URL", "https://app.infisical.com/api");

        /* Others count when the one in use has expired. */
        stage_program("secret-tool", "case $5 in b@*) " SECRET(OLD) ";; *) " SECRET(GOOD) ";; esac");
        expired = plan("corp.example", "b@corp.example has expired");
        assert_variable(expired, "INFISICAL_API_URL", "https://app.infisical.com/api");
        assert_null(strstr(strv_env_get(expired->environment, "CLAUDE_SANDBOX_INFISICAL"), "b@corp"));
}

/* A token of one account is not sent to the server of another: what the profile says counts, and for all three. */
static void test_profile_counts(void **state) {
        static const char *const own[] = { "INFISICAL_TOKEN=mine", "INFISICAL_API_URL=https://mine.example", "INFISICAL_DOMAIN=https://mine.example" };

        configure(USERS);
        stage_program("secret-tool", SECRET(GOOD));
        for (size_t i = 0; i < ELEMENTSOF(own); i++) {
                _cleanup_plan_ Plan *p = stage_plan();
                char allowed[] = "a@corp.example";

                assert_int_equal(strv_add(&p->environment, own[i]), 0);
                stage.settings.infisical = (char *[]) { allowed, NULL };
                assert_int_equal(plan_infisical(p), 0);
                stage.settings.infisical = NULL;
                assert_int_equal(strv_length(p->environment), 2);
                assert_string_equal(p->environment[0], own[i]);
                assert_non_null(strv_env_get(p->environment, "CLAUDE_SANDBOX_INFISICAL"));
        }
}

static void test_configurations(void **state) {
        static const struct {
                const char *text, *domain; /* of the variables; NULL: there is no login */
        } rows[] = {
                { NULL, NULL }, { "", NULL }, { "[", NULL }, { "[]", NULL }, { "{}", NULL }, { "{\"loggedInUsers\":[]}", NULL },
                { "{\"loggedInUsers\":[{\"email\":7},[],null,{\"email\":\"a corp.example\"},{\"email\":\"a@corp.example\\u0000\"}]}", NULL },
                { "{\"loggedInUserEmail\":\"a@corp.example\"}", "(none)" },
                { "{\"loggedInUserEmail\":\"a@corp.example\",\"LoggedInUserDomain\":\"https://one.example/api\"}", "https://one.example/api" },
                { "{\"loggedInUsers\":[{\"email\":\"a@corp.example\",\"domain\":\"https://u:p@two.example\"}]}", "https://u:p@two.example" },
        };

        stage_program("secret-tool", SECRET(GOOD));
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = NULL;

                configure(rows[i].text);
                p = plan("corp.example", rows[i].domain ? NULL : "There is no login of Infisical's");
                assert_variable(p, "INFISICAL_TOKEN", rows[i].domain ? GOOD : NULL);
                assert_variable(p, "INFISICAL_DOMAIN", rows[i].domain);
        }
}

/* However many logins hang, the launch waits for ten seconds. */
static void test_hanging(void **state) {
        _cleanup_plan_ Plan *p = stage_plan();
        char allowed[] = "example", *list[] = { allowed, NULL };
        uint64_t begin = now_usec();
        const char *text;

        configure(USERS);
        stage_program("secret-tool", "exec tail -f /dev/null");
        stage.settings.infisical = list;
        messages_begin();
        assert_int_equal(plan_infisical(p), 0);
        text = messages_end();
        stage.settings.infisical = NULL;
        assert_in_range(now_usec() - begin, 9 * USEC_PER_SEC, 19 * USEC_PER_SEC);
        assert_contains(text, "a@corp.example (secret-tool: it did not answer within 10 s)");
        assert_contains(text, "C@Other.example (secret-tool: it did not answer within 10 s)");
        assert_null(p->environment);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_selection),
                cmocka_unit_test(test_answers),
                cmocka_unit_test(test_variables),
                cmocka_unit_test(test_profile_counts),
                cmocka_unit_test(test_configurations),
                cmocka_unit_test(test_hanging),
        };

        return cmocka_run_group_tests(tests, stage_setup_programs, stage_teardown);
}
