/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's git, to make repositories in the scratch directory. Include after scratch.h. */

#include <stdarg.h>
#include <stdio.h>

#include "basic/macro.h"
#include "basic/strv.h"
#include "shared/subprocess.h"

/* Runs git in the directory `where` below the scratch directory. Its status, or negative errno; what it printed in `*ret`. */
__attribute__((unused)) static int git_ask(const char *where, char *const *args, char **ret) {
        _cleanup_strv_ char **argv = NULL, **env = NULL;

        assert_int_equal(strv_add_many(&argv, "git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main",
                        "-c", "advice.detachedHead=false", NULL), 0);
        assert_int_equal(strv_extend(&argv, args), 0);
        assert_int_equal(strv_add_many(&env, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org",
                        "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org", "LC_ALL=C", "GIT_TEST_FSYNC=0", NULL), 0);
        assert_int_equal(strv_addf(&env, "HOME=%s", getenv("HOME") ?: scratch), 0);
        assert_int_equal(strv_addf(&env, "PATH=%s", getenv("PATH") ?: "/usr/bin:/bin"), 0);

        return subprocess_run(&(Subprocess) {
                        .argv = argv, .env = env, .directory = in_scratch(where), .timeout_usec = 120 * USEC_PER_SEC,
                        .output_max = MIB, .show_errors = true }, ret, NULL);
}

#define git(where, ...)                                                                                       \
        do {                                                                                                  \
                char *const _args[] = { __VA_ARGS__, NULL };                                                  \
                if (git_ask((where), _args, NULL) != 0)                                                       \
                        fail_msg("git does not work in %s (%s)", (where), _args[0]);                          \
        } while (0)

#define ARG(s) ((char *) (s))

__attribute__((unused)) static bool git_is_installed(void) {
        char *const argv[] = { ARG("git"), ARG("--version"), NULL };

        return subprocess_run(&(Subprocess) {
                        .argv = argv, .timeout_usec = 60 * USEC_PER_SEC, .output_max = KIB }, NULL, NULL) == 0;
}
