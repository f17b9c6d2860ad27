/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "launch/supervisor-client.h"

#define ANSWER_MAX 256
#define GUARD_ANSWER_MAX 4096 /* with a sentence that names a path, escaped twice */
#define HOLD_USEC (5 * USEC_PER_SEC)
#define GPG_USEC (15 * USEC_PER_SEC)

int supervisor_connect(const Dirs *dirs, const char *profile) {
        const struct timeval bound = { .tv_sec = HOLD_USEC / USEC_PER_SEC };
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        _cleanup_close_ int path_fd = -EBADF, fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        r = asprintf_to(&path, "%s/%s.sock", dirs->runtime, profile);
        if (r < 0)
                return r;

        /* By descriptor: the path of a long profile name does not fit into sun_path. */
        path_fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
        if (path_fd < 0)
                return -errno;
        (void) snprintf(sa.sun_path, sizeof(sa.sun_path), "/proc/self/fd/%d", path_fd);

        /* The bound holds for connect(), too, which waits where the other's queue is full. */
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof(bound)) < 0)
                return -errno;
        if (connect(fd, (struct sockaddr *) &sa, sizeof(sa)) < 0)
                return -errno;

        return TAKE_FD(fd);
}

/* Waits for the answer {"ok":true}. 1, 0 or negative errno. */
static int read_answer(int fd, uint64_t timeout_usec) {
        uint64_t deadline = now_usec() + timeout_usec;
        char buf[ANSWER_MAX];
        size_t n = 0;

        for (;;) {
                struct pollfd pfd = { .fd = fd, .events = POLLIN };
                uint64_t now = now_usec();
                ssize_t k;

                if (now >= deadline)
                        return -ETIMEDOUT;
                if (poll(&pfd, 1, (int) ((deadline - now) / USEC_PER_MSEC) + 1) <= 0)
                        continue;

                k = recv(fd, buf + n, sizeof(buf) - n - 1, 0);
                if (k < 0)
                        return -errno;
                if (k == 0)
                        return -ECONNRESET;

                n += (size_t) k;
                buf[n] = '\0';
                if (strchr(buf, '\n'))
                        return streq(buf, "{\"ok\":true}\n");
                if (n + 1 >= sizeof(buf))
                        return -EBADMSG;
        }
}

static int send_object(int fd, struct json_object *o) {
        _cleanup_free_ char *line = NULL;
        int r;

        r = asprintf_to(&line, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
        if (r < 0)
                return r;

        if (send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t) strlen(line))
                return -EPIPE;
        return 0;
}

int supervisor_hold(int fd, const Plan *p) {
        struct json_object *o;
        int r;

        o = json_object_new_object();
        if (!o)
                return -ENOMEM;

        (void) json_object_object_add(o, "request", json_object_new_string("hold"));
        (void) json_object_object_add(o, "id", json_object_new_string(p->id));
        (void) json_object_object_add(o, "directory", json_object_new_string(p->directory));
        r = send_object(fd, o);
        (void) json_object_put(o);
        if (r < 0)
                return r;

        r = read_answer(fd, HOLD_USEC);
        return r < 0 ? r : r > 0 ? 0 : -EPERM;
}

int supervisor_guard(int fd) {
        static const char request[] = "{\"request\":\"guard\"}\n";

        return send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t) strlen(request) ? 0 : -EPIPE;
}

/* An answer is sent at once, and is small: all of it is there, or none. */
int supervisor_read_guard_answer(int fd, char **ret_why) {
        char buf[GUARD_ANSWER_MAX], *end;
        struct json_object *o, *ok, *why;
        ssize_t n;
        int r = -EBADMSG;

        n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT | MSG_PEEK);
        if (n <= 0)
                return n == 0 ? -ECONNRESET : -errno;
        buf[n] = '\0';
        end = strchr(buf, '\n');
        if (!end)
                return -EBADMSG;
        *end = '\0';
        n = recv(fd, buf, (size_t) (end - buf) + 1, MSG_DONTWAIT);
        if (n <= 0)
                return -errno;
        *end = '\0';

        o = json_tokener_parse(buf);
        if (json_object_object_get_ex(o, "ok", &ok) && json_object_is_type(ok, json_type_boolean)) {
                r = json_object_get_boolean(ok);
                if (r == 0 && json_object_object_get_ex(o, "reason", &why))
                        *ret_why = str_escape(json_object_get_string(why) ?: "");
        }
        (void) json_object_put(o);
        return r;
}

int supervisor_start_gpg_agent(const Dirs *dirs, const char *profile) {
        static const char request[] = "{\"request\":\"start-gpg-agent\"}\n";
        _cleanup_close_ int fd = -EBADF;

        fd = supervisor_connect(dirs, profile);
        if (fd < 0)
                return fd;
        if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t) strlen(request))
                return -EPIPE;

        return read_answer(fd, GPG_USEC);
}

void supervisor_done(int fd, int status) {
        char line[64];
        int n;

        n = snprintf(line, sizeof(line), "{\"request\":\"done\",\"status\":%d}\n", status);
        (void) send(fd, line, (size_t) n, MSG_NOSIGNAL);
}
