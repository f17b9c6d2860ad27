/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "launch/git-config.h"
#include "shared/subprocess.h"

#define GIT_TIMEOUT_USEC (5 * USEC_PER_SEC)
#define ANSWER_MAX (256 * KIB)

int git_config_ask(const char *text, const char *action, const char *pattern, char **ret, size_t *ret_n) {
        char *const argv[] = { (char *) "git", (char *) "config", (char *) "--file", (char *) "-", (char *) "--no-includes",
                (char *) "-z", (char *) action, (char *) pattern, NULL };
        static char *const env[] = { (char *) "GIT_CONFIG_NOSYSTEM=1", (char *) "LC_ALL=C", NULL };
        _cleanup_free_ char *answer = NULL;
        size_t n;
        int r;

        r = subprocess_run(&(Subprocess) {
                        .argv = argv, .env = env, .directory = "/", .input = text,
                        .timeout_usec = GIT_TIMEOUT_USEC, .output_max = ANSWER_MAX },
                        &answer, &n);
        if (r < 0)
                return r;
        if (r > 0)
                return r == 1 ? 0 : -EBADMSG;

        *ret = TAKE_PTR(answer);
        *ret_n = n;
        return 1;
}
