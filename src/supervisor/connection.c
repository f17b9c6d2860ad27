/* SPDX-License-Identifier: MIT */

/* A client's connection. A launcher's stands for its launch: when it ends without "done", the launcher died, and what it left
 * is swept up. Only processes of this user get this far: the socket is 0600 in a 0700 directory, and the kernel is asked who
 * the peer is. A bridge may be in a guest's hands, so no unit has more than its share of the connections. */

#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "shared/json-object.h"
#include "supervisor/events.h"
#include "supervisor/peer.h"
#include "supervisor/supervisor.h"
#include "supervisor/watch.h"

#define COMPLAINT_USEC (10 * USEC_PER_SEC)

void connection_answer(Connection *c, bool ok) {
        const char *answer = ok ? "{\"ok\":true}\n" : "{\"ok\":false}\n";

        /* Small, on a fresh queue: it fits, or the client does not read and gets nothing. */
        (void) send(c->fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void connection_answer_reason(Connection *c, const char *reason) {
        _cleanup_json_ Json *o = json_object_new_object();
        _cleanup_free_ char *answer = NULL;

        if (o && json_add(o, "ok", json_object_new_boolean(false)) >= 0 && json_add_string(o, "reason", reason) >= 0 &&
                        asprintf_to(&answer, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN)) >= 0)
                (void) send(c->fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void connection_answer_fd(Connection *c, int fd) {
        static const char answer[] = "{\"ok\":true}\n";
        union {
                struct cmsghdr header;
                char buf[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec iov = { .iov_base = (void *) answer, .iov_len = sizeof(answer) - 1 };
        const struct msghdr message = {
                .msg_iov = &iov,
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };

        control.header = (struct cmsghdr) {
                .cmsg_len = CMSG_LEN(sizeof(int)),
                .cmsg_level = SOL_SOCKET,
                .cmsg_type = SCM_RIGHTS,
        };
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
        (void) sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int begin_launch(Connection *c, Request *request) {
        if (c->holds || c->supervisor->stopping)
                return -EBUSY;

        c->holds = true;
        (void) stpcpy(c->id, request->id);
        c->directory = TAKE_PTR(request->directory);
        c->since_usec = now_usec();

        event_launch_started(c);
        supervisor_update_status(c->supervisor);
        return 0;
}

/* Now and then, that is: what a bridge says may be a guest's choice, and how often. */
static int complain(Supervisor *s, pid_t pid, int error, const char *what) {
        uint64_t now = now_usec();

        if (s->complained_usec > 0 && now < s->complained_usec + COMPLAINT_USEC)
                return error;

        s->complained_usec = now;
        return log_error(error, "Process %d %s; its connection is closed", (int) pid, what);
}

/* What follows from a request. Negative: the connection is of no use any more. */
static int handle_request(Connection *c, Request *request) {
        const char *reason = NULL;
        int r;

        /* One thing at a time on a connection. */
        if (c->waits_for)
                return -EBUSY;

        if (!peer_may(c->unit, c->supervisor->profile, request)) {
                connection_answer(c, false);
                return complain(c->supervisor, c->pid, -EPERM, "asked for what its unit may not have");
        }

        switch (request->kind) {
        case REQUEST_HOLD:
                r = begin_launch(c, request);
                connection_answer(c, r >= 0);
                return r;

        case REQUEST_GUARD:
                r = watch_start(c);
                if (r < 0)
                        connection_answer(c, false);
                return r;

        case REQUEST_DONE:
                if (!c->holds)
                        return -EBADMSG;
                c->done = true;
                c->status = request->status;
                return 0;

        case REQUEST_START_GPG_AGENT:
                r = worker_start_gpg(c);
                if (r < 0)
                        connection_answer(c, false);
                return r;

        case REQUEST_OPEN:
                r = browser_start(c, request->id, request->text);
                if (r < 0)
                        connection_answer(c, false);
                return r;

        case REQUEST_PASTE:
                r = paste_start(c, request->id, request->text, &reason);
                if (r < 0)
                        connection_answer_reason(c, reason);
                return r;

        default:
                assert(false);
                return -EBADMSG;
        }
}

static int handle_lines(Connection *c) {
        char *newline;

        while (c->n > 0 && (newline = memchr(c->buf, '\n', c->n))) {
                _cleanup_request_ Request request = { 0 };
                size_t length = (size_t) (newline - c->buf);
                int r;

                r = request_parse(c->buf, length, &request);
                if (r < 0)
                        return complain(c->supervisor, c->pid, r, "sent a request that is none");

                c->n -= length + 1;
                memmove(c->buf, newline + 1, c->n);

                r = handle_request(c, &request);
                if (r < 0)
                        return r;
        }

        return c->n < REQUEST_MAX ? 0 : -EMSGSIZE;
}

/* 1: goes on; 0: end of file; or negative errno. */
static int read_some(Connection *c) {
        ssize_t k;
        int r;

        r = grow(&c->buf, &c->allocated, MIN(c->n + 1024, REQUEST_MAX), 1);
        if (r < 0)
                return r;

        k = recv(c->fd, c->buf + c->n, c->allocated - c->n, MSG_DONTWAIT);
        if (k < 0)
                return errno == EAGAIN || errno == EINTR ? 1 : -errno;
        if (k == 0)
                return 0;

        c->n += (size_t) k;
        r = handle_lines(c);
        return r < 0 ? r : 1;
}

static void connection_end(Connection *c) {
        Supervisor *s = c->supervisor;

        paste_abandon(c);
        if (c->holds) {
                event_launch_ended(c);
                if (c->done)
                        (void) worker_sweep_bridge(s, c->id);
                else {
                        _cleanup_free_ char *name = NULL;

                        if (asprintf_to(&name, "%s-%s", s->profile, c->id) >= 0)
                                (void) worker_sweep(s, name);
                }
        }

        (void) connection_free(c);
        (void) idle_watch(s);
        supervisor_update_status(s);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Connection *c = userdata;

        if (read_some(c) <= 0)
                connection_end(c);
        return 0;
}

static bool same_unit(const char *a, const char *b) {
        return a && b ? streq(a, b) : a == b;
}

/* Whether there is a place for one more of that unit's. Processes that are in none share. */
static bool has_place(const Supervisor *s, const char *unit) {
        size_t n = 0;

        for (const Connection *c = s->connections; c; c = c->next)
                n += same_unit(c->unit, unit);

        return n < CONNECTIONS_OF_UNIT_MAX && s->n_connections < CONNECTIONS_MAX;
}

int connection_accept(Supervisor *s) {
        _cleanup_free_ char *unit = NULL;
        _cleanup_close_ int fd = -EBADF;
        socklen_t n = sizeof(struct ucred);
        struct ucred peer;
        Connection *c;
        int r;

        fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
                return errno == EAGAIN || errno == ECONNABORTED ? 0 : log_error(-errno, "Cannot accept a connection");
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 || peer.uid != geteuid())
                return -EPERM;
        /* Now, before another process can have its number. */
        r = peer_unit(peer.pid, &unit);
        if (r < 0)
                return complain(s, peer.pid, r, "is in no unit that can be told");
        if (!has_place(s, unit))
                return complain(s, peer.pid, -EMFILE, "or others of its unit have too many connections");

        c = new0(Connection, 1);
        if (!c)
                return log_oom();
        c->supervisor = s;
        c->fd = TAKE_FD(fd);
        c->pid = peer.pid;
        c->unit = TAKE_PTR(unit);
        c->next = s->connections;
        s->connections = c;
        s->n_connections++;

        r = sd_event_add_io(s->event, &c->io, c->fd, EPOLLIN, on_io, c);
        if (r < 0)
                (void) connection_free(c);
        return r;
}

Connection *connection_free(Connection *c) {
        Supervisor *s = c->supervisor;

        for (Connection **p = &s->connections; *p; p = &(*p)->next)
                if (*p == c) {
                        *p = c->next;
                        s->n_connections--;
                        break;
                }

        refusals_clear(&c->refusals);
        (void) watch_free(c->watch);
        (void) sd_event_source_disable_unref(c->io);
        fd_close(c->fd);
        free(c->unit);
        free(c->buf);
        free(c->directory);
        free(c);
        return NULL;
}
