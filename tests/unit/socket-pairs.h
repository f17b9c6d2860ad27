/* SPDX-License-Identifier: MIT */
#pragma once

/* Connected descriptors for tests, non-blocking, and close-on-exec. Include behind cmocka.h. */

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/fd.h"

static inline void unix_pair(int *ret_a, int *ret_b) {
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        *ret_a = fds[0];
        *ret_b = fds[1];
}

static inline int tcp_listen(struct sockaddr_in *ret) {
        socklen_t n = sizeof(*ret);
        int fd;

        *ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *) ret, sizeof(*ret)), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *) ret, &n), 0);
        return fd;
}

static inline void tcp_pair(int *ret_a, int *ret_b) {
        struct sockaddr_in address;
        int listening, yes = 1;

        listening = tcp_listen(&address);
        *ret_a = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(*ret_a, (struct sockaddr *) &address, sizeof(address)), 0);
        *ret_b = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        assert_true(*ret_b >= 0);
        assert_int_equal(fd_set_nonblock(*ret_a, true), 0);
        assert_int_equal(setsockopt(*ret_a, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)), 0);
        assert_int_equal(setsockopt(*ret_b, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)), 0);
        fd_close(listening);
}

static inline void pipe_pair(int *ret_read, int *ret_write) {
        int fds[2];

        assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
        *ret_read = fds[0];
        *ret_write = fds[1];
}
