/* SPDX-License-Identifier: MIT */

/* A relay between two sockets, whose other ends do what the input says, a byte for each step: write, read, half-close, close, in
 * any order. What arrives is what was sent, from the start and without a gap; it arrives whole if nobody closed; and the relay
 * comes to rest after each step. */

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/relay.h"
#include "fuzz.h"

#define BUFFER_SMALL 4096      /* the kernel doubles it, and stalls come soon */
#define STEPS_MAX 400
#define DISPATCHES_MAX 10000   /* for one step: far more than its bytes can cause */

typedef enum Step {
        STEP_WRITE,
        STEP_READ,
        STEP_SHUTDOWN,
        STEP_CLOSE,
        _STEP_MAX,
} Step;

typedef struct End {
        int fd;           /* the far end of the relay's socket; -EBADF when closed */
        size_t written;   /* how much was sent here */
        size_t received;  /* and came here */
        bool shut;        /* no more is sent */
        bool ended;       /* the end of file was read here */
} End;

typedef struct Stage {
        Relay relay;
        bool over;
        int epoll;
        End ends[_RELAY_SIDE_MAX];
        bool undisturbed; /* nobody has closed */
} Stage;

/* The byte at that offset of what one end sends. Its period is no divisor of any buffer's size. */
static uint8_t byte_at(RelaySide from, size_t offset) {
        return (uint8_t) (offset % 251 + from);
}

static int watch(Relay *r, int fd, uint32_t events) {
        Stage *s = (Stage *) ((char *) r - offsetof(Stage, relay));
        struct epoll_event e = { .events = events, .data.fd = fd };

        if (events == 0)
                (void) epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
        else if (epoll_ctl(s->epoll, EPOLL_CTL_MOD, fd, &e) < 0)
                PROPERTY(epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) == 0);
        return 0;
}

static void relay_said(Stage *s, int r) {
        PROPERTY(r >= 0);
        if (r == RELAY_E_FINISHED) {
                relay_done(&s->relay);
                s->over = true;
        }
}

/* Lets the relay do all that it can. */
static void settle(Stage *s) {
        struct epoll_event e;

        for (unsigned i = 0; !s->over && epoll_wait(s->epoll, &e, 1, 0) == 1; i++) {
                PROPERTY(i < DISPATCHES_MAX);
                relay_said(s, relay_dispatch(&s->relay, e.data.fd, e.events));
        }
}

static void end_write(Stage *s, RelaySide side, size_t n) {
        static uint8_t buf[1 << 16];
        End *e = &s->ends[side];
        ssize_t k;

        if (e->fd < 0 || e->shut)
                return;

        for (size_t i = 0; i < n; i++)
                buf[i] = byte_at(side, e->written + i);
        k = send(e->fd, buf, n, MSG_NOSIGNAL);
        if (k > 0)
                e->written += (size_t) k;
}

/* Returns whether something came. */
static bool end_read(Stage *s, RelaySide side, size_t n) {
        static uint8_t buf[1 << 16];
        RelaySide from = side == RELAY_A ? RELAY_B : RELAY_A;
        End *e = &s->ends[side];
        ssize_t k;

        if (e->fd < 0 || e->ended)
                return false;

        k = recv(e->fd, buf, n, 0);
        for (ssize_t i = 0; i < k; i++)
                PROPERTY(buf[i] == byte_at(from, e->received + (size_t) i));
        if (k > 0)
                e->received += (size_t) k;
        else if (k == 0)
                e->ended = true;

        PROPERTY(e->received <= s->ends[from].written);
        return k > 0;
}

static void end_shutdown(Stage *s, RelaySide side) {
        End *e = &s->ends[side];

        e->shut = true;
        if (e->fd >= 0)
                (void) shutdown(e->fd, SHUT_WR);
}

static void step(Stage *s, uint8_t what) {
        static const uint32_t sizes[] = { 1, 5, 400, 4096, 10000, 16384, 40000, 65536 };
        const size_t n = sizes[what >> 3 & 7];
        const RelaySide side = what & 4 ? RELAY_B : RELAY_A;

        switch ((Step) (what & 3)) {
        case STEP_WRITE:
                end_write(s, side, n);
                break;
        case STEP_READ:
                (void) end_read(s, side, n);
                break;
        case STEP_SHUTDOWN:
                end_shutdown(s, side);
                break;
        default:
                /* Rare, since nothing much can follow. */
                if (what >> 3 != 0 || s->ends[side].fd < 0)
                        break;
                s->undisturbed = false;
                s->ends[side].fd = fd_close(s->ends[side].fd);
        }

        settle(s);
}

static int make_end(End *e) {
        const int small = BUFFER_SMALL;
        int fds[2];

        PROPERTY(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                (void) setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));

        *e = (End){ .fd = fds[0] };
        return fds[1];
}

/* Reads all that comes, by turns, until the relay has nothing more. */
static void drain(Stage *s) {
        bool more = true;

        while (more) {
                more = false;
                for (RelaySide side = RELAY_A; side < _RELAY_SIDE_MAX; side++)
                        more = end_read(s, side, 65536) || more;
                settle(s);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Stage s = { .epoll = epoll_create1(EPOLL_CLOEXEC), .undisturbed = true };
        static RelayShared *shared;
        int a, b;

        (void) signal(SIGPIPE, SIG_IGN);
        if (!shared)
                shared = relay_shared_new();
        PROPERTY(shared && s.epoll >= 0);

        a = make_end(&s.ends[RELAY_A]);
        b = make_end(&s.ends[RELAY_B]);
        relay_init(&s.relay, shared, watch, RELAY_SOCKET(a), RELAY_SOCKET(b));
        relay_said(&s, relay_start(&s.relay));

        for (size_t i = 0; i < MIN(size, (size_t) STEPS_MAX); i++)
                step(&s, data[i]);
        end_shutdown(&s, RELAY_A);
        end_shutdown(&s, RELAY_B);
        settle(&s);
        drain(&s);
        PROPERTY(s.over);

        for (RelaySide side = RELAY_A; side < _RELAY_SIDE_MAX; side++) {
                const RelayFlow *f = &s.relay.flows[side];

                PROPERTY(!s.undisturbed || f->bytes == s.ends[side].written);
                PROPERTY(!s.undisturbed || s.ends[side == RELAY_A ? RELAY_B : RELAY_A].received == f->bytes);
                PROPERTY(!s.undisturbed || s.ends[side].ended);
                s.ends[side].fd = fd_close(s.ends[side].fd);
        }

        fd_close(s.epoll);
        return 0;
}
