/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/fd.h"

int fd_close(int fd) {
        if (fd >= 0) {
                int saved = errno;

                (void) close(fd);
                errno = saved;
        }

        return -EBADF;
}

static int fd_change_flag(int fd, int get, int set, int flag, bool on) {
        int flags, wanted;

        flags = fcntl(fd, get, 0);
        if (flags < 0)
                return -errno;

        wanted = on ? flags | flag : flags & ~flag;
        if (wanted != flags && fcntl(fd, set, wanted) < 0)
                return -errno;

        return 0;
}

int fd_set_nonblock(int fd, bool nonblock) {
        return fd_change_flag(fd, F_GETFL, F_SETFL, O_NONBLOCK, nonblock);
}

int fd_set_cloexec(int fd, bool cloexec) {
        return fd_change_flag(fd, F_GETFD, F_SETFD, FD_CLOEXEC, cloexec);
}

int fd_close_from(int first) {
        /* glibc has close_range() since 2.34, other libcs do not. */
        if (syscall(SYS_close_range, (unsigned) first, UINT_MAX, 0) < 0)
                return -errno;

        return 0;
}

bool fd_peer_is_this_user(int fd) {
        struct ucred peer;
        socklen_t n = sizeof(peer);

        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) >= 0 && peer.uid == geteuid();
}

int fd_fill_stdio(void) {
        int fd;

        do {
                fd = open("/dev/null", O_RDWR);
                if (fd < 0)
                        return -errno;
        } while (fd <= STDERR_FILENO);

        (void) close(fd);
        return 0;
}
