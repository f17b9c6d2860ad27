/* SPDX-License-Identifier: MIT */

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "basic/fd.h"
#include "basic/io.h"
#include "guest/bridge.h"
#include "guest/question.h"

#define ANSWER_MSEC (20 * 1000) /* between two reads; the bridge's own bounds are lower */

static int wait_for(int fd, short events) {
        struct pollfd pfd = { .fd = fd, .events = events };
        int k;

        do
                k = poll(&pfd, 1, ANSWER_MSEC);
        while (k < 0 && errno == EINTR);

        return k < 0 ? -errno : k == 0 ? -ETIMEDOUT : 0;
}

static ssize_t receive(int fd, void *buf, size_t size) {
        ssize_t n;
        int r;

        do {
                r = wait_for(fd, POLLIN);
                if (r < 0)
                        return r;
                n = recv(fd, buf, size, 0);
        } while (n < 0 && (errno == EAGAIN || errno == EINTR));

        return n < 0 ? -errno : n;
}

static int send_question(int fd, const Bridge *bridge, const char *service, const char *text) {
        char buf[WIRE_LINE_MAX + WIRE_QUESTION_MAX];
        size_t n, done = 0;
        int r;

        n = bridge_format_handshake(bridge, service, buf);
        n += (size_t) snprintf(buf + n, sizeof(buf) - n, "%s\n", text);

        while (done < n) {
                ssize_t k;

                r = wait_for(fd, POLLOUT);
                if (r < 0)
                        return r;
                k = send(fd, buf + done, n - done, MSG_NOSIGNAL);
                if (k < 0 && errno != EAGAIN && errno != EINTR)
                        return -errno;
                done += (size_t) MAX(k, (ssize_t) 0);
        }

        explicit_bzero(buf, n);
        return 0;
}

static int read_answer(Question *q) {
        size_t n = 0;
        char *newline;

        do {
                ssize_t k;

                if (n >= sizeof(q->answer))
                        return -EBADMSG;
                k = receive(q->fd, q->answer + n, sizeof(q->answer) - n);
                if (k <= 0)
                        return k < 0 ? (int) k : -ECONNREFUSED;

                newline = memchr(q->answer + n, '\n', (size_t) k);
                n += (size_t) k;
        } while (!newline);

        *newline = '\0';
        q->n_rest = n - (size_t) (newline + 1 - q->answer);
        memcpy(q->rest, newline + 1, q->n_rest);
        return 0;
}

int question_ask(const char *service, const char *text, Question *ret) {
        Question q = { .fd = -EBADF };
        Bridge bridge;
        int r;

        if (strlen(text) >= WIRE_QUESTION_MAX || strchr(text, '\n'))
                return -EINVAL;

        r = bridge_load(&bridge);
        if (r < 0)
                return r;
        q.fd = bridge_connect(&bridge);
        if (q.fd < 0)
                return q.fd;

        r = send_question(q.fd, &bridge, service, text);
        if (r >= 0)
                r = read_answer(&q);
        if (r < 0) {
                question_done(&q);
                return r;
        }

        *ret = q;
        return 0;
}

int question_copy(Question *q, size_t n, int out) {
        size_t done = q->n_rest;
        char buf[64 * KIB];
        int r;

        r = io_write_all(out, q->rest, q->n_rest);
        while (r >= 0) {
                ssize_t k;

                k = receive(q->fd, buf, sizeof(buf));
                if (k < 0)
                        return (int) k;
                if (k == 0)
                        break;

                done += (size_t) k;
                if (done > n)
                        break;
                r = io_write_all(out, buf, (size_t) k);
        }

        return r < 0 ? r : done == n ? 0 : -EBADMSG;
}

void question_done(Question *q) {
        q->fd = fd_close(q->fd);
}
