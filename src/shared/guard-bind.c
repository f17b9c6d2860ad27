/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/fd.h"
#include "shared/guard-bind.h"

#define PROPAGATION_PRIVATE (1 << 18) /* MS_PRIVATE; <sys/mount.h> and <linux/mount.h> exclude each other in older C libraries */

static int open_place(int dir_fd, const char *path, uint64_t resolve) {
        const struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | resolve };
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        fd = (int) syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;

        /* The last component can be opened even so: nothing to mount, and nothing to mount on. */
        return S_ISLNK(st.st_mode) ? -ELOOP : TAKE_FD(fd);
}

int guard_open_in(int root_fd, const char *path) {
        return open_place(root_fd, path, RESOLVE_IN_ROOT);
}

int guard_open_host(const char *path) {
        return open_place(AT_FDCWD, path, 0);
}

int guard_clone(int source_fd) {
        int fd;

        fd = (int) syscall(SYS_open_tree, source_fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int guard_attach(const Guard *g, int clone_fd, int target_fd) {
        const struct mount_attr attr = {
                .attr_set = g->read_only ? MOUNT_ATTR_RDONLY : 0,
                .propagation = PROPAGATION_PRIVATE,
        };

        if (syscall(SYS_mount_setattr, clone_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
                return -errno;
        if (syscall(SYS_move_mount, clone_fd, "", target_fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
                return -errno;
        return 0;
}
