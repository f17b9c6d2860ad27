/* SPDX-License-Identifier: MIT */

/* Who may ask a supervisor for what, by the unit that the process is in. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
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
                        [REQUEST_HOLD] = rows[i].hold, [REQUEST_DONE] = rows[i].done, [REQUEST_START_GPG_AGENT] = rows[i].gpg,
                        [REQUEST_OPEN] = rows[i].open, [REQUEST_PASTE] = rows[i].paste,
                };

                for (RequestKind k = 0; k < _REQUEST_KIND_MAX; k++) {
                        Request r = { .kind = k, .id = ID };

                        if (peer_may(rows[i].unit, "my-team", &r) != expected[k])
                                fail_msg("%s, request %d", rows[i].unit ? rows[i].unit : "no unit", (int) k);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rule),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
