/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "basic/str.h"
#include "basic/strv.h"
#include "guest/environment.h"

static char **build(const EnvironmentOptions *o) {
        char **env = NULL;

        assert_int_equal(environment_build(o, &env), 0);
        return env;
}

static size_t count(char **env, const char *name) {
        size_t n = 0;

        STRV_FOREACH(s, env)
                n += strncmp(*s, name, strlen(name)) == 0 && (*s)[strlen(name)] == '=';
        return n;
}

static void test_precedence(void **state) {
        static const char *const image[] = { "A=image", "B=image", "HOME=/root", "PATH=/image", "A=image again", NULL };
        static const char *const launch[] = { "B=launch", "C=x=\n\"y\"", "USER=root", "SHELL=/bin/fish", "EMPTY=", NULL };
        _cleanup_strv_ char **env = build(&(EnvironmentOptions) {
                        .image = (char *const *) image, .launch = (char *const *) launch, .shell = "/bin/sh" });

        assert_string_equal(strv_env_get(env, "A"), "image again");
        assert_string_equal(strv_env_get(env, "B"), "launch");
        assert_string_equal(strv_env_get(env, "C"), "x=\n\"y\"");
        assert_string_equal(strv_env_get(env, "EMPTY"), "");
        assert_string_equal(strv_env_get(env, "HOME"), "/home/appuser");
        assert_string_equal(strv_env_get(env, "USER"), "appuser");
        assert_string_equal(strv_env_get(env, "LOGNAME"), "appuser");
        assert_string_equal(strv_env_get(env, "SHELL"), "/bin/sh");
        assert_string_equal(strv_env_get(env, "PATH"), "/run/claude-sandbox/bin:/home/appuser/.local/bin:/image");
        assert_null(strv_env_get(env, "SSH_AUTH_SOCK"));
        assert_null(strv_env_get(env, "GNUPGHOME"));

        STRV_FOREACH(s, env) {
                _cleanup_strv_ char **name = NULL;

                assert_int_equal(strv_split(*s, '=', &name), 0);
                assert_int_equal(count(env, name[0]), 1);
        }
}

static void test_services(void **state) {
        static const char *const launch[] = { "SSH_AUTH_SOCK=/of/the/host", "GNUPGHOME=/of/the/host", NULL };
        _cleanup_strv_ char **env = build(&(EnvironmentOptions) {
                        .launch = (char *const *) launch, .shell = "/bin/sh", .ssh_auth_sock = "/run/s", .gpg = true });

        assert_string_equal(strv_env_get(env, "SSH_AUTH_SOCK"), "/run/s");
        assert_string_equal(strv_env_get(env, "GNUPGHOME"), "/home/appuser/.gnupg");
        assert_int_equal(count(env, "SSH_AUTH_SOCK"), 1);
}

static void test_path(void **state) {
        static const char *const paths[] = { "PATH=", NULL };
        _cleanup_strv_ char **none = build(&(EnvironmentOptions) { .shell = "/bin/sh" });
        _cleanup_strv_ char **empty = build(&(EnvironmentOptions) {
                        .image = (char *const *) paths, .shell = "/bin/sh" });

        /* An empty path would make the working directory the last place to look. */
        assert_true(str_has_suffix(strv_env_get(none, "PATH"), ":/usr/sbin:/usr/bin:/sbin:/bin"));
        assert_string_equal(strv_env_get(empty, "PATH"), strv_env_get(none, "PATH"));
}

/* The image may name our directories itself; empty components stay what they are. */
static void test_path_twice(void **state) {
        static const char *const paths[] = {
                "PATH=/a:/home/appuser/.local/bin:/run/claude-sandbox/bin/x::/run/claude-sandbox/bin:/b:", NULL,
        };
        _cleanup_strv_ char **env = build(&(EnvironmentOptions) {
                        .image = (char *const *) paths, .shell = "/bin/sh" });

        assert_string_equal(strv_env_get(env, "PATH"),
                        "/run/claude-sandbox/bin:/home/appuser/.local/bin:/a:/run/claude-sandbox/bin/x::/b:");
}

static void test_plumbing(void **state) {
        static const char *const image[] = {
                "CLAUDE_SANDBOX_FORWARDS=/x=gpg", "CLAUDE_SANDBOX_BRIDGE_PORT=1", "LISTEN_FDS=3", "LISTEN_PID=1",
                "LISTEN_FDNAMES=a", "NOTIFY_SOCKET=/n", "CLAUDE_SANDBOX_RAM_MIB=1", "LISTEN_FDSX=kept", "=odd", "", "NOVALUE", NULL,
        };
        _cleanup_strv_ char **env = build(&(EnvironmentOptions) {
                        .image = (char *const *) image, .shell = "/bin/sh" });

        for (size_t i = 0; i < 7; i++)
                assert_int_equal(strv_contains(env, image[i]), i == 1);
        assert_true(strv_contains(env, "LISTEN_FDSX=kept"));
        STRV_FOREACH(s, env)
                assert_true(strchr(*s, '=') && **s != '=');
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_precedence),
                cmocka_unit_test(test_services),
                cmocka_unit_test(test_path),
                cmocka_unit_test(test_path_twice),
                cmocka_unit_test(test_plumbing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
