/* SPDX-License-Identifier: MIT */

/* The least that a relay can do, as a floor for bench-bridge.py: three system calls for each message, and nothing else. No program that
 * anybody would use: it ends when something goes wrong.
 *
 *   bare FD PATH   passes connections to the listening socket FD on to a Unix socket */

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/parse.h"

#define FDS_MAX 1024

static int other[FDS_MAX];

static _noreturn_ void die(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static void watch(int epoll, int fd) {
        struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

        if (fd < 0 || fd >= FDS_MAX || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) < 0)
                die("watch");
}

static void pair(int epoll, int a, const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int b = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int yes = 1;

        (void) strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
        if (a < 0 || b < 0 || connect(b, (const struct sockaddr *) &address, sizeof(address)) < 0)
                die("pair");
        (void) setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));

        watch(epoll, a);
        watch(epoll, b);
        other[a] = b;
        other[b] = a;
}

int main(int argc, char *argv[]) {
        int epoll = epoll_create1(EPOLL_CLOEXEC);
        static char buffer[16 * KIB];
        uint64_t listening;

        if (argc != 3 || parse_uint(argv[1], 0, FDS_MAX - 1, &listening) < 0)
                die("usage: bare FD PATH");

        watch(epoll, (int) listening);
        for (;;) {
                struct epoll_event e;
                ssize_t k;

                /* One at a time: a second event may be of one that the first closes. */
                if (epoll_wait(epoll, &e, 1, -1) != 1)
                        continue;
                if (e.data.fd == (int) listening) {
                        pair(epoll, accept4((int) listening, NULL, NULL, SOCK_CLOEXEC), argv[2]);
                        continue;
                }

                k = recv(e.data.fd, buffer, sizeof(buffer), 0);
                if (k > 0 && send(other[e.data.fd], buffer, (size_t) k, MSG_NOSIGNAL) == k)
                        continue;
                (void) close(other[e.data.fd]);
                (void) close(e.data.fd);
        }
}
