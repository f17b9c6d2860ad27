/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/fd.h"
#include "bridge/unix-connect.h"

int unix_connect(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF, path_fd = -EBADF;
        size_t n = strlen(path);

        if (n < sizeof(address.sun_path))
                memcpy(address.sun_path, path, n);
        else {
                /* Too long for an address: by way of a descriptor. */
                path_fd = open(path, O_PATH | O_CLOEXEC);
                if (path_fd < 0)
                        return -errno;
                (void) snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", path_fd);
        }

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;
        if (!fd_peer_is_this_user(fd))
                return -ECONNREFUSED;

        return TAKE_FD(fd);
}
