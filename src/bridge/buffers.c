/* SPDX-License-Identifier: MIT */

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "bridge/buffers.h"

/* The kernel doubles what it is told, for its own part. */
#define WINDOW (1 * MIB)  /* what a client may send while nobody reads */
#define SEND (208 * KIB)  /* what may wait to be read by a backend */
#define LARGE_MAX 64      /* connections that have this much */
#define SMALL_RECEIVE (64 * KIB)
#define SMALL_SEND (16 * KIB)

static int set(int fd, int level, int option, int value) {
        return setsockopt(fd, level, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

int buffers_of_listener(int fd) {
        /* The window is clamped and not the buffer, which would be set to less than bulk needs. What waits to
         * be sent has the kernel's bound, tcp_wmem, 4 MiB unless somebody changed it: in a smaller buffer bulk
         * costs a twentieth more of the processor. */
        return set(fd, IPPROTO_TCP, TCP_WINDOW_CLAMP, WINDOW);
}

void buffers_of_client(int fd, size_t n_open) {
        if (n_open <= LARGE_MAX)
                return;

        /* No less than it has from the start; but it does not grow any more. */
        (void) set(fd, SOL_SOCKET, SO_RCVBUF, SMALL_RECEIVE);
        (void) set(fd, SOL_SOCKET, SO_SNDBUF, SMALL_SEND);
}

void buffers_of_backend(int fd, size_t n_open) {
        /* Of the size that it has by default a Unix socket's takes no whole pipe. */
        (void) set(fd, SOL_SOCKET, SO_SNDBUF, n_open <= LARGE_MAX ? SEND : SMALL_SEND);
}
