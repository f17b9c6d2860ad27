/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>

#include "basic/fd.h"
#include "basic/macro.h"
#include "bridge/seal-files.h"

/* Younger than Debian 12's headers. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (UINT64_C(1) << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (UINT64_C(1) << 15)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP (UINT64_C(1) << 0)
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (UINT64_C(1) << 1)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (UINT64_C(1) << 0)
#define LANDLOCK_SCOPE_SIGNAL (UINT64_C(1) << 1)
#endif

/* As struct landlock_ruleset_attr. A kernel to which it is too long wants the rest to be zero. */
typedef struct Ruleset {
        uint64_t files;
        uint64_t network;
        uint64_t scoped;
} Ruleset;

/* All that the kernel knows, and we do: among what comes later is the right to connect to a path, which is needed. */
static Ruleset ruleset_of(long abi) {
        return (Ruleset) {
                .files = (LANDLOCK_ACCESS_FS_REFER - 1) | /* the first version's are all below it */
                         (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
                         (abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0) |
                         (abi >= 5 ? LANDLOCK_ACCESS_FS_IOCTL_DEV : 0),
                .network = abi >= 4 ? LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP : 0,
                .scoped = abi >= 6 ? LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL : 0,
        };
}

static int allow_listing(int ruleset_fd, const char *directory) {
        _cleanup_close_ int fd = -EBADF;
        struct landlock_path_beneath_attr rule = { .allowed_access = LANDLOCK_ACCESS_FS_READ_DIR };

        fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;

        rule.parent_fd = fd;
        return syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int seal_files(const char *const *directories) {
        _cleanup_close_ int fd = -EBADF;
        Ruleset ruleset;
        long abi;

        abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
        if (abi < 1)
                return -EOPNOTSUPP;

        ruleset = ruleset_of(abi);
        fd = (int) syscall(SYS_landlock_create_ruleset, &ruleset, sizeof(ruleset), 0);
        if (fd < 0)
                return -errno;

        for (; *directories; directories++) {
                int r;

                r = allow_listing(fd, *directories);
                if (r < 0)
                        return r;
        }

        return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 1;
}
