/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/str.h"
#include "supervisor/peer.h"

/* The launch's id in "<prefix><profile>-<id><suffix>", or NULL. */
static const char *launch_of(const char *unit, const char *prefix, const char *profile, const char *suffix,
                char id[static LAUNCH_ID_LENGTH + 1]) {

        const char *rest = unit;

        rest = str_after_prefix(rest, prefix);
        rest = rest ? str_after_prefix(rest, profile) : NULL;
        rest = rest ? str_after_prefix(rest, "-") : NULL;
        if (!rest || strlen(rest) != LAUNCH_ID_LENGTH + strlen(suffix) || !streq(rest + LAUNCH_ID_LENGTH, suffix))
                return NULL;

        memcpy(id, rest, LAUNCH_ID_LENGTH);
        id[LAUNCH_ID_LENGTH] = '\0';
        return id;
}

bool peer_may(const char *unit, const char *profile, const Request *request) {
        char of_scope[LAUNCH_ID_LENGTH + 1], of_bridge[LAUNCH_ID_LENGTH + 1];
        const char *scope, *bridge;

        if (!unit)
                return false;
        scope = launch_of(unit, "claude-sandbox-", profile, ".scope", of_scope);
        bridge = launch_of(unit, "claude-bridge@", profile, ".service", of_bridge);

        switch (request->kind) {
        case REQUEST_HOLD:
                return scope && streq(scope, request->id);
        case REQUEST_GUARD: /* they follow a hold, on the same connection */
        case REQUEST_DONE:
                return scope;
        case REQUEST_START_GPG_AGENT:
                return scope || bridge;
        case REQUEST_OPEN:
        case REQUEST_PASTE:
                return bridge && streq(bridge, request->id);
        default:
                return false;
        }
}

int scope_in_cgroup_file(const char *text, const char *unit, char **ret) {
        const size_t n = strlen(unit);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                const char *path;

                line += *line == '\n';
                path = str_after_prefix(line, "0::");
                if (!path)
                        continue;

                /* The first component of that name: a guest makes groups below it, not above. */
                for (const char *p = path; p && *p == '/'; p = strpbrk(p + 1, "/\n")) {
                        if (strncmp(p + 1, unit, n) != 0 || (p[1 + n] != '/' && p[1 + n] != '\n' && p[1 + n] != '\0'))
                                continue;
                        *ret = strndup(path, (size_t) (p + 1 + n - path));
                        return *ret ? 0 : -ENOMEM;
                }
        }

        return -EPERM;
}
