/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "shared/cgroup.h"

static int write_at(int dir_fd, const char *name, const char *text) {
        _cleanup_close_ int fd = -EBADF;

        fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        return io_write_all(fd, text, strlen(text));
}

/* Passes on to the children what the manager delegated. Best effort: a controller that cannot be enabled only means that podman
 * sets no limit with it. */
static void enable_controllers(int scope_fd) {
        _cleanup_free_ char *text = NULL;
        char *save = NULL;

        if (io_read_file_at(scope_fd, "cgroup.controllers", 4096, &text, NULL) < 0)
                return;

        for (char *s = strtok_r(text, " \n", &save); s; s = strtok_r(NULL, " \n", &save)) {
                char enable[64] = "+";

                (void) strncat(enable, s, sizeof(enable) - 2);
                (void) write_at(scope_fd, "cgroup.subtree_control", enable);
        }
}

int cgroup_enter(const char *scope) {
        _cleanup_close_ int scope_fd = -EBADF, launcher_fd = -EBADF, guest_fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        r = asprintf_to(&path, CGROUP_ROOT "%s", scope);
        if (r < 0)
                return r;
        scope_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (scope_fd < 0)
                return -errno;

        if (mkdirat(scope_fd, "launcher", 0755) < 0 || mkdirat(scope_fd, "guest", 0755) < 0)
                return -errno;
        launcher_fd = openat(scope_fd, "launcher", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        guest_fd = openat(scope_fd, "guest", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (launcher_fd < 0 || guest_fd < 0)
                return -errno;

        /* Best effort: a guest that nests groups without end only costs time when it is cleared away. */
        (void) write_at(guest_fd, "cgroup.max.descendants", "1000");
        (void) write_at(guest_fd, "cgroup.max.depth", "32");

        r = cgroup_join(launcher_fd);
        if (r < 0)
                return r;
        enable_controllers(scope_fd);

        return TAKE_FD(guest_fd);
}

int cgroup_join(int group_fd) {
        return write_at(group_fd, "cgroup.procs", "0");
}

int cgroup_kill(int group_fd) {
        return write_at(group_fd, "cgroup.kill", "1");
}

int cgroup_is_populated(int group_fd) {
        _cleanup_free_ char *text = NULL;
        int r;

        r = io_read_file_at(group_fd, "cgroup.events", 4096, &text, NULL);
        if (r < 0)
                return r;

        return strstr(text, "populated 1") != NULL;
}

/* Until `wanted` is in cgroup.events. The kernel tells of a change at most every 10 ms: who cannot wait for that looks by itself. */
static int wait_for_event(int group_fd, const char *wanted, uint64_t timeout_usec, int interval_msec) {
        uint64_t deadline = now_usec() + timeout_usec;
        _cleanup_close_ int fd = -EBADF;

        fd = openat(group_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;

        for (;;) {
                struct pollfd pfd = { .fd = fd, .events = POLLPRI };
                uint64_t now = now_usec();
                char buf[256];
                ssize_t k;

                /* Reading arms the notification for the next change. */
                k = pread(fd, buf, sizeof(buf) - 1, 0);
                if (k < 0)
                        return -errno;
                buf[k] = '\0';
                if (strstr(buf, wanted))
                        return 0;

                if (now >= deadline)
                        return -ETIMEDOUT;
                if (poll(&pfd, 1, MIN(interval_msec, (int) ((deadline - now) / USEC_PER_MSEC) + 1)) < 0 && errno != EINTR)
                        return -errno;
        }
}

int cgroup_wait_empty(int group_fd, uint64_t timeout_usec) {
        return wait_for_event(group_fd, "populated 0", timeout_usec, INT_MAX);
}

int cgroup_freeze(int group_fd, bool freeze) {
        return write_at(group_fd, "cgroup.freeze", freeze ? "1" : "0");
}

int cgroup_wait_frozen(int group_fd, uint64_t timeout_usec) {
        return wait_for_event(group_fd, "frozen 1", timeout_usec, 1);
}
