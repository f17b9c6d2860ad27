/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "shared/unit-name.h"

char *profile_slice_name(const char *profile) {
        char *s, *q;

        s = q = malloc(STRLEN("claude-sandbox-") + 4 * strlen(profile) + STRLEN(".slice") + 1);
        if (!s)
                return NULL;

        q = stpcpy(q, "claude-sandbox-");
        for (const char *p = profile; *p; p++)
                if (*p == '-')
                        q = stpcpy(q, "\\x2d");
                else
                        *q++ = *p;
        (void) stpcpy(q, ".slice");

        return s;
}

int launch_units_make(const char *profile, const char *id, LaunchUnits *ret) {
        _cleanup_launch_units_ LaunchUnits u = { 0 };

        u.slice = profile_slice_name(profile);
        if (!u.slice || asprintf_to(&u.supervisor, "claude-sandbox@%s.service", profile) < 0 ||
                        asprintf_to(&u.scope, "claude-sandbox-%s-%s.scope", profile, id) < 0 ||
                        asprintf_to(&u.socket, "claude-bridge@%s-%s.socket", profile, id) < 0 ||
                        asprintf_to(&u.bridge, "claude-bridge@%s-%s.service", profile, id) < 0)
                return -ENOMEM;

        *ret = u;
        u = (LaunchUnits) { 0 };
        return 0;
}

void launch_units_clear(LaunchUnits *u) {
        free(u->supervisor);
        free(u->slice);
        free(u->scope);
        free(u->socket);
        free(u->bridge);
        *u = (LaunchUnits) { 0 };
}
