/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <systemd/sd-login.h>

#include "basic/alloc.h"
#include "supervisor/peer.h"

int peer_check(pid_t pid, const char *profile, const Request *request) {
        _cleanup_free_ char *unit = NULL;
        int r;

        r = sd_pid_get_user_unit(pid, &unit);
        if (r < 0 && r != -ENODATA)
                return r;

        return peer_may(unit, profile, request) ? 0 : -EPERM;
}
