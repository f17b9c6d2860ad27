/* SPDX-License-Identifier: MIT */

/* bridge-connect SERVICE: the handshake, then standard input to the bridge and the bridge to standard
 * output. The end of standard input is passed on as a half-close. The end of the bridge's side ends the
 * program: no service listens after it has said its last.
 *
 * Status 0 when the bridge has sent something and ended in order. A bridge that refuses closes without a
 * byte; so does a service that was asked nothing, or whose agent is gone: the status is 1, without a word.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/log.h"
#include "basic/relay.h"
#include "basic/str.h"
#include "guest/applet.h"
#include "guest/bridge.h"
#include "guest/events.h"

enum {
        SOURCE_INPUT,
        SOURCE_OUTPUT,
        SOURCE_BRIDGE,
        _SOURCE_MAX,
};

typedef struct Session {
        Relay relay; /* RELAY_A: standard input and output, RELAY_B: the bridge; first: session_watch() */
        Events events;
        EventSource sources[_SOURCE_MAX];
        uint32_t always[_SOURCE_MAX]; /* wanted of what epoll refuses (a file, /dev/null): always ready */
        bool over;
} Session;

static_assert(offsetof(Session, relay) == 0, "a relay's address is its session's");

static int session_watch(Relay *r, int fd, uint32_t events) {
        Session *s = (Session *) r;

        for (size_t i = 0; i < _SOURCE_MAX; i++) {
                int k;

                if (s->sources[i].fd != fd)
                        continue;

                s->always[i] = 0;
                k = events_watch(&s->events, &s->sources[i], events);
                if (k != -EPERM)
                        return k;

                s->always[i] = events & (EPOLLIN | EPOLLOUT);
                return 0;
        }

        return -EBADF;
}

static bool session_is_over(const Session *s) {
        RelayState answers = s->relay.flows[RELAY_B].state;

        return answers == RELAY_STATE_DONE || answers == RELAY_STATE_BROKEN;
}

static int session_dispatch(EventSource *source, uint32_t revents) {
        Session *s = source->userdata;
        int r;

        r = relay_dispatch(&s->relay, source->fd, revents);
        s->over = r == RELAY_E_FINISHED || session_is_over(s);
        return MIN(r, 0);
}

static int session_run(Session *s) {
        int r;

        r = relay_start(&s->relay);
        while (r >= 0 && !s->over) {
                bool ready = false;

                for (size_t i = 0; i < _SOURCE_MAX && r >= 0 && !s->over; i++)
                        if (s->always[i]) {
                                ready = true;
                                r = session_dispatch(&s->sources[i], s->always[i]);
                        }

                if (r >= 0 && !s->over)
                        r = events_run(&s->events, ready ? 0 : -1);
        }

        return r;
}

/* 0 when the bridge has answered, and all of it was written. */
static int session_result(const Session *s) {
        const RelayFlow *answers = &s->relay.flows[RELAY_B];

        if (answers->error < 0)
                return answers->error;
        if (answers->state != RELAY_STATE_DONE)
                return -EPIPE;

        return answers->bytes > 0 ? 0 : -ECONNREFUSED;
}

/* A non-blocking descriptor for standard input or output. A pipe or terminal is opened anew, which leaves
 * the open file that is shared with others as it is; a socket cannot be, so that is changed itself and
 * `*ret_changed` set. A regular file never blocks, and opened anew it would lose its offset. */
static int stdio_open(int fd, int flags, bool *ret_changed) {
        char path[STRLEN("/proc/self/fd/") + 12];
        struct stat st;
        int copy;

        if (fstat(fd, &st) < 0)
                return -errno;

        if (!S_ISREG(st.st_mode)) {
                (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
                copy = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
                if (copy >= 0)
                        return copy;
        }

        copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (copy < 0)
                return -errno;

        *ret_changed = !S_ISREG(st.st_mode) && fd_set_nonblock(copy, true) >= 0;
        return copy;
}

/* Takes over the descriptors. Returns 0 when the bridge answered, otherwise negative errno. */
static int exchange(const Bridge *bridge, const char *service, int in, int out) {
        _cleanup_relay_shared_ RelayShared *shared = relay_shared_new();
        char handshake[WIRE_LINE_MAX];
        int r, fd, fds[_SOURCE_MAX];
        Session s = {};
        size_t n;

        fd = shared ? bridge_connect(bridge) : -ENOMEM;
        if (fd < 0)
                return fd;

        r = events_init(&s.events);
        if (r < 0)
                return r;

        fds[SOURCE_INPUT] = in;
        fds[SOURCE_OUTPUT] = out;
        fds[SOURCE_BRIDGE] = fd;
        relay_init(&s.relay, shared, session_watch, RELAY_PAIR(in, out), RELAY_SOCKET(fd));
        for (size_t i = 0; i < _SOURCE_MAX; i++)
                s.sources[i] = (EventSource) { .fd = fds[i], .dispatch = session_dispatch, .userdata = &s };

        n = bridge_format_handshake(bridge, service, handshake);
        r = relay_push(&s.relay, RELAY_A, handshake, n);
        if (r >= 0)
                r = session_run(&s);
        if (r >= 0)
                r = session_result(&s);

        relay_done(&s.relay);
        events_done(&s.events);
        return r;
}

int applet_bridge_connect(int argc, char **argv) {
        bool changed_in = false, changed_out = false;
        Bridge bridge;
        int r, in, out;

        log_setup("bridge-connect");
        if (argc != 2) {
                fputs("Usage: bridge-connect SERVICE\n", stderr);
                return 2;
        }

        /* Names are the bridge's to judge; a name that would break the line is refused here. */
        if (strlen(argv[1]) >= WIRE_SERVICE_MAX || argv[1][strcspn(argv[1], " \n")] != '\0')
                return 1;

        r = bridge_load(&bridge);
        if (r < 0) {
                log_debug("No bridge: %s", strerror(-r));
                return 1;
        }

        (void) fd_fill_stdio();
        (void) signal(SIGPIPE, SIG_IGN);
        in = stdio_open(STDIN_FILENO, O_RDONLY, &changed_in);
        out = stdio_open(STDOUT_FILENO, O_WRONLY, &changed_out);

        r = in < 0 ? in : out < 0 ? out : exchange(&bridge, argv[1], in, out);
        if (r < 0)
                log_debug("%s: %s", argv[1], strerror(-r));

        if (changed_in)
                (void) fd_set_nonblock(STDIN_FILENO, false);
        if (changed_out)
                (void) fd_set_nonblock(STDOUT_FILENO, false);
        return r < 0;
}
