/* SPDX-License-Identifier: MIT */
#pragma once

/* Processes that stand in for an ssh-agent, one a socket. Include after cmocka.h. */

#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "basic/fd.h"
#include "basic/io.h"
#include "scratch.h"

typedef enum Behaviour {
        ANSWERS,          /* and keeps the connection */
        ANSWERS_IN_PIECES, /* a byte at a time, each after the one before was read */
        HALF_THEN_SILENT,
        HALF_THEN_CLOSES,
        SILENT,
        CLOSES,
} Behaviour;

typedef struct StandIn {
        char path[128];
        int fd;
        pid_t pid;
} StandIn;

/* Answers of agents, and what is none. */
static const char agent_keys[] _unused_ = "\0\0\0\x2a\x0c\0\0\0\2" "\0\0\0\x0dssh-ed25519…………";
static const char agent_empty[] _unused_ = "\0\0\0\5\x0c\0\0\0\0";

static void stand_in_listen(StandIn *s, const char *name, int backlog) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };

        (void) snprintf(s->path, sizeof(s->path), "%s", in_scratch(name));
        assert_true(strlen(s->path) < sizeof(sa.sun_path));
        (void) strcpy(sa.sun_path, s->path);
        s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(s->fd >= 0);
        assert_int_equal(bind(s->fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        assert_int_equal(listen(s->fd, backlog), 0);
}

static void wait_until_read(int fd) {
        int n;

        while (ioctl(fd, SIOCOUTQ, &n) >= 0 && n > 0)
                (void) poll(NULL, 0, 1);
}

static void serve(int fd, Behaviour behaviour, const char *answer, size_t n) {
        unsigned char request[5];

        if (behaviour == CLOSES)
                return;
        if (recv(fd, request, sizeof(request), MSG_WAITALL) != sizeof(request) || memcmp(request, "\0\0\0\1\x0b", 5) != 0)
                return;
        if (behaviour == SILENT)
                n = 0;
        if (behaviour == HALF_THEN_SILENT || behaviour == HALF_THEN_CLOSES)
                n = 7;

        for (size_t i = 0; i < n;) {
                size_t k = behaviour == ANSWERS_IN_PIECES ? 1 : n;

                if (io_write_all(fd, answer + i, k) < 0)
                        return;
                wait_until_read(fd);
                i += k;
        }

        if (behaviour != HALF_THEN_CLOSES)
                (void) recv(fd, request, 1, 0);
}

_unused_ static void stand_in_start(StandIn *s, const char *name, Behaviour behaviour, const char *answer, size_t n) {
        stand_in_listen(s, name, 8);
        s->pid = fork();
        assert_true(s->pid >= 0);
        if (s->pid > 0)
                return;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) signal(SIGPIPE, SIG_IGN);
        for (;;) {
                int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);

                serve(fd, behaviour, answer, n);
                fd_close(fd);
        }
}

_unused_ static void stand_in_stop(StandIn *s) {
        if (s->pid > 0) {
                assert_int_equal(kill(s->pid, SIGKILL), 0);
                assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
        }
        s->fd = fd_close(s->fd);
        (void) unlink(s->path);
}
