/* SPDX-License-Identifier: MIT */

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "bridge/supervisor-call.h"
#include "bridge/unix-connect.h"

#define ANSWER_MAX 256

#define ANSWER_OK "{\"ok\":true}\n"
#define ANSWER_NO "{\"ok\":false}\n"
#define ANSWER_REASON "{\"ok\":false,\"reason\":\""
#define ANSWER_END "\"}\n"

struct SupervisorCall {
        SupervisorCallDone done;
        void *userdata;
        int fd;
        sd_event_source *source;
        sd_event_source *timer;
        char line[ANSWER_MAX];
        size_t n;
        int answer_fd;
};

SupervisorCall *supervisor_call_free(SupervisorCall *c) {
        if (!c)
                return NULL;

        sd_event_source_disable_unref(c->source);
        sd_event_source_disable_unref(c->timer);
        fd_close(c->fd);
        fd_close(c->answer_fd);
        free(c);
        return NULL;
}

static bool line_is(const char *line, size_t n, const char *expected) {
        return n == strlen(expected) && memcmp(line, expected, n) == 0;
}

bool supervisor_answer_parse(const char *line, size_t n, SupervisorAnswer *ret) {
        const size_t prefix = STRLEN(ANSWER_REASON), suffix = STRLEN(ANSWER_END);
        size_t length;

        ret->ok = line_is(line, n, ANSWER_OK);
        ret->reason[0] = '\0';
        if (ret->ok || line_is(line, n, ANSWER_NO))
                return true;

        if (n < prefix + suffix || memcmp(line, ANSWER_REASON, prefix) != 0 ||
                        memcmp(line + n - suffix, ANSWER_END, suffix) != 0)
                return false;

        length = n - prefix - suffix;
        if (length >= sizeof(ret->reason))
                return false;
        for (size_t i = 0; i < length; i++) {
                char c = line[prefix + i];

                if (c != ' ' && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
                        return false;
        }

        memcpy(ret->reason, line + prefix, length);
        ret->reason[length] = '\0';
        return true;
}

/* The call may be gone when this returns. */
static void call_finish(SupervisorCall *c, bool complete) {
        SupervisorAnswer answer = { .fd = -EBADF };

        if (!complete || !supervisor_answer_parse(c->line, c->n, &answer))
                answer.ok = false;
        else if (answer.ok)
                answer.fd = TAKE_FD(c->answer_fd);

        c->source = sd_event_source_disable_unref(c->source);
        c->timer = sd_event_source_disable_unref(c->timer);
        c->done(c->userdata, &answer);
        fd_close(answer.fd);
}

/* Keeps the first descriptor that comes, and closes every other. */
static void take_fds(SupervisorCall *c, struct msghdr *message) {
        for (struct cmsghdr *h = CMSG_FIRSTHDR(message); h; h = CMSG_NXTHDR(message, h)) {
                if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
                        continue;

                for (size_t i = 0; i < (h->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
                        if (c->answer_fd < 0)
                                c->answer_fd = fd;
                        else
                                fd_close(fd);
                }
        }
}

static int on_answer(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        union {
                struct cmsghdr header;
                char buf[CMSG_SPACE(sizeof(int))];
        } control;
        SupervisorCall *c = userdata;
        struct iovec iov = { .iov_base = c->line + c->n, .iov_len = sizeof(c->line) - c->n };
        struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        ssize_t n;

        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n > 0) {
                take_fds(c, &message);
                c->n += (size_t) n;
                if (!memchr(c->line, '\n', c->n) && c->n < sizeof(c->line))
                        return 0;
        }

        call_finish(c, n > 0);
        return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        call_finish(userdata, false);
        return 0;
}

int supervisor_call_new(sd_event *event, const char *path, const char *request, uint64_t timeout_usec,
                SupervisorCallDone done, void *userdata, SupervisorCall **ret) {

        _cleanup_supervisor_call_ SupervisorCall *c = NULL;
        ssize_t n = (ssize_t) strlen(request);
        int r;

        c = new0(SupervisorCall, 1);
        if (!c)
                return -ENOMEM;

        c->done = done;
        c->userdata = userdata;
        c->answer_fd = -EBADF;
        c->fd = unix_connect(path);
        if (c->fd < 0)
                return c->fd;

        /* A new connection's buffer takes so little at once, or not at all. */
        if (send(c->fd, request, (size_t) n, MSG_NOSIGNAL) != n)
                return -EPIPE;

        r = sd_event_add_io(event, &c->source, c->fd, EPOLLIN, on_answer, c);
        if (r >= 0)
                r = sd_event_add_time_relative(
                                event, &c->timer, CLOCK_MONOTONIC, timeout_usec, 0, on_timeout, c);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(c);
        return 0;
}
