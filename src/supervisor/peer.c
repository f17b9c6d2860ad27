/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <systemd/sd-login.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "supervisor/peer.h"

int peer_unit(pid_t pid, char **ret) {
        int r;

        *ret = NULL;
        r = sd_pid_get_user_unit(pid, ret);
        return r == -ENODATA ? 0 : r;
}

int peer_scope(pid_t pid, const char *unit, char **ret) {
        _cleanup_free_ char *text = NULL;
        char path[64];
        int r;

        (void) snprintf(path, sizeof(path), "/proc/%d/cgroup", (int) pid);
        r = io_read_file_at(AT_FDCWD, path, 64 * KIB, &text, NULL);
        return r < 0 ? r : scope_in_cgroup_file(text, unit, ret);
}
