/* SPDX-License-Identifier: MIT */

/* A stand-in for src/supervisor/peer.c and peer-rule.c, for a supervisor outside of systemd: there are no units, so anybody may ask for
 * anything. Who may really is tested in the rig (test_refused.py). */

#include "supervisor/peer.h"

int peer_unit(pid_t pid, char **ret) {
        *ret = NULL;
        return 0;
}

bool peer_may(const char *unit, const char *profile, const Request *request) {
        return true;
}

int peer_scope(pid_t pid, const char *unit, char **ret) {
        return -EPERM;
}
