/* SPDX-License-Identifier: MIT */

#include <systemd/sd-login.h>

#include "supervisor/peer.h"

int peer_unit(pid_t pid, char **ret) {
        int r;

        *ret = NULL;
        r = sd_pid_get_user_unit(pid, ret);
        return r == -ENODATA ? 0 : r;
}
