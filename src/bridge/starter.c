/* SPDX-License-Identifier: MIT */

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "bridge/starter.h"
#include "bridge/unix-connect.h"

#define REQUEST "{\"request\":\"start-gpg-agent\"}\n"
#define ANSWER_OK "{\"ok\":true}\n"
#define ANSWER_MAX 256
#define ANSWER_USEC (10 * USEC_PER_SEC)
#define PAUSE_USEC \
        (1 * USEC_PER_SEC) /* after a failure: a guest that asks in a loop does not make us do so */

struct Starter {
        sd_event *event;
        char *path;
        StarterDone done;
        void *userdata;

        int fd; /* while a request is under way */
        sd_event_source *source;
        sd_event_source *timer;
        char answer[ANSWER_MAX];
        size_t n_answer;
        uint64_t failed_at; /* 0: the last one did not fail */
};

static void starter_reset(Starter *s) {
        s->source = sd_event_source_disable_unref(s->source);
        s->timer = sd_event_source_disable_unref(s->timer);
        s->fd = fd_close(s->fd);
        s->n_answer = 0;
}

int starter_new(sd_event *event, const char *path, StarterDone done, void *userdata, Starter **ret) {
        _cleanup_starter_ Starter *s = NULL;

        s = new0(Starter, 1);
        if (!s)
                return -ENOMEM;

        s->fd = -EBADF;
        s->event = event;
        s->done = done;
        s->userdata = userdata;
        s->path = strdup(path);
        if (!s->path)
                return -ENOMEM;

        *ret = TAKE_PTR(s);
        return 0;
}

Starter *starter_free(Starter *s) {
        if (!s)
                return NULL;

        starter_reset(s);
        free(s->path);
        free(s);
        return NULL;
}

static void starter_finish(Starter *s, bool ok) {
        starter_reset(s);
        s->failed_at = ok ? 0 : now_usec();
        if (!ok)
                log_debug("The supervisor did not start the gpg-agent.");

        s->done(s->userdata, ok);
}

static int on_answer(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Starter *s = userdata;
        ssize_t n;

        n = read(fd, s->answer + s->n_answer, sizeof(s->answer) - s->n_answer);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n > 0) {
                s->n_answer += (size_t) n;
                if (!memchr(s->answer, '\n', s->n_answer) && s->n_answer < sizeof(s->answer))
                        return 0;
        }

        starter_finish(s, n > 0 && s->n_answer == STRLEN(ANSWER_OK) &&
                                          memcmp(s->answer, ANSWER_OK, STRLEN(ANSWER_OK)) == 0);
        return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        starter_finish(userdata, false);
        return 0;
}

static int starter_send(Starter *s) {
        int r;

        s->fd = unix_connect(s->path);
        if (s->fd < 0) {
                r = s->fd;
                s->fd = -EBADF;
                return r;
        }

        /* A new connection's buffer takes so little at once, or not at all. */
        if (send(s->fd, REQUEST, STRLEN(REQUEST), MSG_NOSIGNAL) != STRLEN(REQUEST))
                return -EPIPE;

        r = sd_event_add_io(s->event, &s->source, s->fd, EPOLLIN, on_answer, s);
        if (r >= 0)
                r = sd_event_add_time_relative(
                                s->event, &s->timer, CLOCK_MONOTONIC, ANSWER_USEC, 0, on_timeout, s);

        return r;
}

int starter_request(Starter *s) {
        int r;

        if (s->fd >= 0)
                return 0;
        if (s->failed_at != 0 && now_usec() < s->failed_at + PAUSE_USEC)
                return -EAGAIN;

        r = starter_send(s);
        if (r < 0) {
                starter_reset(s);
                s->failed_at = now_usec();
                return r;
        }

        return 0;
}
