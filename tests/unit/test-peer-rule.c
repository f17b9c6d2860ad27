/* SPDX-License-Identifier: MIT */

/* Who may ask a supervisor for what, by the unit that the process is in. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/peer.h"

#define ID "0123abcd"

static void test_rule(void **state) {
        static const struct {
                const char *unit;
                bool hold, done, gpg, open, paste; /* for profile my-team and launch ID */
        } rows[] = {
                { "claude-sandbox-my-team-" ID ".scope", true, true, true, false, false },
                { "claude-bridge@my-team-" ID ".service", false, false, true, true, true },
                /* Another launch's, of the same profile. */
                { "claude-sandbox-my-team-0123abce.scope", false, true, true, false, false },
                { "claude-bridge@my-team-0123abce.service", false, false, true, false, false },
                /* Another profile's, however alike. */
                { "claude-sandbox-my-" ID ".scope", false, false, false, false, false },
                { "claude-sandbox-my-team-2-" ID ".scope", false, false, false, false, false },
                { "claude-bridge@team-" ID ".service", false, false, false, false, false },
                { "claude-bridge@my-team-x-" ID ".service", false, false, false, false, false },
                /* Other units. */
                { NULL, false, false, false, false, false },
                { "", false, false, false, false, false },
                { "app.slice", false, false, false, false, false },
                { "claude-sandbox-my-team-" ID ".service", false, false, false, false, false },
                { "claude-bridge@my-team-" ID ".scope", false, false, false, false, false },
                { "claude-bridge@my-team-" ID ".service.service", false, false, false, false, false },
                { "xclaude-bridge@my-team-" ID ".service", false, false, false, false, false },
                { "claude-bridge@my-team-", false, false, false, false, false },
                { "claude-sandbox@my-team.service", false, false, false, false, false },
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                const bool expected[] = {
                        [REQUEST_HOLD] = rows[i].hold, [REQUEST_GUARD] = rows[i].done, [REQUEST_DONE] = rows[i].done, [REQUEST_START_GPG_AGENT] = rows[i].gpg,
                        [REQUEST_OPEN] = rows[i].open, [REQUEST_PASTE] = rows[i].paste,
                };

                for (RequestKind k = 0; k < _REQUEST_KIND_MAX; k++) {
                        Request r = { .kind = k, .id = ID };

                        if (peer_may(rows[i].unit, "my-team", &r) != expected[k])
                                fail_msg("%s, request %d", rows[i].unit ? rows[i].unit : "no unit", (int) k);
                }
        }
}

#define SCOPE "claude-sandbox-my\\x2dteam-" ID ".scope"
#define ABOVE "/user.slice/user-1000.slice/user@1000.service/claude.slice/"

/* Where a process is, in the text of its /proc/<pid>/cgroup; a guest names the groups below its scope. */
static void test_scope(void **state) {
        static const struct {
                const char *text;
                const char *scope; /* NULL: not in it */
        } rows[] = {
                { "0::" ABOVE SCOPE "\n", ABOVE SCOPE },
                { "0::" ABOVE SCOPE "/guest/container\n", ABOVE SCOPE },
                { "1:cpu:/x\n0::/" SCOPE "/launcher\n", "/" SCOPE },
                { "0::" ABOVE SCOPE, ABOVE SCOPE },
                { "0::" ABOVE SCOPE "/guest/" SCOPE "/x\n", ABOVE SCOPE },
                { "0::" ABOVE SCOPE "x/guest\n", NULL },
                { "0::" ABOVE "x" SCOPE "/guest\n", NULL },
                { "0::" ABOVE "other.scope\n", NULL },
                { "1:name=systemd:" ABOVE SCOPE "\n0::/\n", NULL },
                { "0::/\n1:x:/" SCOPE "\n", NULL },
                { "0::/x\n/" SCOPE "\n", NULL },
                { "", NULL },
                { "0::", NULL },
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                char *scope = NULL;
                int r;

                r = scope_in_cgroup_file(rows[i].text, SCOPE, &scope);
                if (r != (rows[i].scope ? 0 : -EPERM) || (rows[i].scope && strcmp(scope, rows[i].scope) != 0))
                        fail_msg("row %zu: %d, %s", i, r, scope ? scope : "none");
                free(scope);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rule),
                cmocka_unit_test(test_scope),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
