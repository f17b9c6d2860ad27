/* SPDX-License-Identifier: MIT */

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "basic/clock.h"
#include "basic/fd.h"
#include "bridge/accept.h"
#include "bridge/buffers.h"
#include "bridge/client.h"

#define BATCH_MAX 16                         /* connections in one turn of the loop */
#define EXHAUSTED_USEC (100 * USEC_PER_MSEC) /* until the next try when descriptors are used up */

/* What is accepted inherits it, and nobody without rights takes it back: a socket of the host's network that is
 * connected anew reaches no other machine. Linux 5.7 and newer; older ones go without. */
static void bind_to_loopback(int fd) {
        (void) setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof("lo"));
}

int accept_prepare(int listen_fd, struct sockaddr_in *ret) {
        const int yes = 1, seconds = DEFER_SECONDS;
        struct sockaddr_in address = {};
        socklen_t n = sizeof(address);
        int r;

        if (getsockname(listen_fd, (struct sockaddr *) &address, &n) < 0)
                return -errno;
        /* The check of peers knows only this machine's own sockets, and only by this address. */
        if (address.sin_family != AF_INET || address.sin_addr.s_addr != htonl(INADDR_LOOPBACK))
                return -EADDRNOTAVAIL;

        r = fd_set_nonblock(listen_fd, true);
        if (r < 0)
                return r;

        /* What is accepted inherits it: messages go out at once. */
        if (setsockopt(listen_fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0)
                return -errno;

        bind_to_loopback(listen_fd);
        r = buffers_of_listener(listen_fd);
        if (r < 0)
                return r;

        /* A client speaks first, so a connection without a byte has nothing to say: the kernel keeps it to
         * itself until one comes, for a second at most. A flood of silent ones then stands in nobody's way,
         * and takes no place. */
        if (setsockopt(listen_fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)) < 0)
                return -errno;

        *ret = address;
        return 0;
}

static void accept_pause(Manager *m, uint64_t until) {
        (void) sd_event_source_set_enabled(m->accept_source, SD_EVENT_OFF);
        (void) sd_event_source_set_time(m->resume_timer, until);
        (void) sd_event_source_set_enabled(m->resume_timer, SD_EVENT_ONESHOT);
}

void accept_resume(Manager *m) {
        int enabled;

        if (sd_event_source_get_enabled(m->accept_source, &enabled) < 0 || enabled != SD_EVENT_OFF)
                return;

        (void) sd_event_source_set_enabled(m->resume_timer, SD_EVENT_OFF);
        (void) sd_event_source_set_enabled(m->accept_source, SD_EVENT_ON);
}

static int on_resume(sd_event_source *s, uint64_t usec, void *userdata) {
        accept_resume(userdata);
        return 0;
}

/* Returns 1, or 0 when there is nothing more to accept, or negative errno. */
static int accept_one(Manager *m) {
        struct sockaddr_in address = {};
        socklen_t n = sizeof(address);
        PeerVerdict v;
        Peer peer;
        int fd;

        fd = accept4(m->listen_fd, (struct sockaddr *) &address, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
                switch (errno) {
                case EAGAIN:
                        return 0;
                case EBADF:
                case EFAULT:
                case EINVAL:
                case EMFILE:
                case ENFILE:
                case ENOBUFS:
                case ENOMEM:
                case ENOTSOCK:
                        return -errno;
                default:
                        return 1; /* that connection's trouble, accept(2) */
                }

        v = peer_check(m->peers, address, &peer);
        if (v == PEER_OURS || v == PEER_OURS_BY_UID)
                client_begin(m, fd, peer);
        else {
                fd_close(fd);
                client_report(m, outcome_of_peer(v), peer);
        }

        return 1;
}

static int on_accept(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Manager *m = userdata;

        for (int i = 0; i < BATCH_MAX; i++) {
                int r;

                /* The next one may need a place. */
                if (m->n_waiting >= WAITING_MAX) {
                        uint64_t until = m->waiting->since + WAITING_USEC;

                        if (now_usec() < until) {
                                accept_pause(m, until);
                                return 0;
                        }
                }

                r = accept_one(m);
                if (r == -EMFILE || r == -ENFILE || r == -ENOBUFS || r == -ENOMEM) {
                        accept_pause(m, now_usec() + EXHAUSTED_USEC);
                        return 0;
                }
                if (r < 0)
                        return sd_event_exit(m->event, r);
                if (r == 0)
                        break;
        }

        return 0;
}

int accept_start(Manager *m) {
        int r;

        r = sd_event_add_time(m->event, &m->resume_timer, CLOCK_MONOTONIC, UINT64_MAX, 1, on_resume, m);
        if (r >= 0)
                r = sd_event_source_set_enabled(m->resume_timer, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_io(m->event, &m->accept_source, m->listen_fd, EPOLLIN, on_accept, m);

        return r;
}
