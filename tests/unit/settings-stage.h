/* SPDX-License-Identifier: MIT */
#pragma once

/* Configuration files in the scratch directory, and what is made of them. Include after cmocka.h. */

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "shared/settings.h"

#define MAIN "claude-profile.conf"
#define WORK "profiles/work.conf"

static char home[] = "/home/u", config[PATH_MAX];
static Dirs dirs = { .home = home, .config = config };

__attribute__((unused)) static int settings_setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;

        (void) snprintf(config, sizeof(config), "%s", scratch);
        return mkdir(in_scratch("profiles"), 0700);
}

/* Nothing set anywhere. */
__attribute__((unused)) static int reset(void **state) {
        (void) unlink(in_scratch(MAIN));
        (void) unlink(in_scratch(WORK));

        /* clearenv() would also take what tells cmocka to print TAP. */
        for (char **e = environ; *e;) {
                _cleanup_free_ char *name = NULL;

                if (!str_after_prefix(*e, "CLAUDE_PROFILE_")) {
                        e++;
                        continue;
                }
                name = strndup(*e, strcspn(*e, "="));
                if (!name || unsetenv(name) < 0)
                        return -1;
        }

        return 0;
}

__attribute__((unused)) static Settings *load(const char *profile) {
        _cleanup_free_ char *error = NULL;
        Settings *s = NULL;

        if (settings_load(&dirs, profile, &s, &error) < 0)
                fail_msg("%s", error);
        assert_null(error);
        return s;
}

__attribute__((unused)) static void check_warnings(Settings *s, const char *file, const char *const *expected) {
        for (size_t i = 0; expected[i]; i++) {
                const char *text;

                if (!s->warnings || !s->warnings[i])
                        fail_msg("missing: %s", expected[i]);
                text = str_after_prefix(s->warnings[i], in_scratch(file));
                if (!text || !streq(text, expected[i]))
                        fail_msg("'%s', not '%s'", s->warnings[i], expected[i]);
        }
}
