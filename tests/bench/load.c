/* SPDX-License-Identifier: MIT */

/* The two ends for bench-bridge.py: a backend that stands for an agent, and clients that measure. Small and plain, so that it
 * is not what is measured.
 *
 *   load backend PATH              serves on a Unix socket and on a TCP port of the loopback, which it prints
 *   load rtt WHERE LINE SIZE N     N round trips of SIZE bytes on one connection: median and 99th percentile, ns
 *   load agent WHERE LINE SIZE N   likewise, of a request that an ssh-agent could get
 *   load connect WHERE LINE SIZE N N times: connect, send, first reply, close: median and 99th percentile, ns
 *   load rate WHERE LINE N MSEC    N clients connect, send, get a reply, close, all over again: number in MSEC, failures
 *   load up|down WHERE LINE MIB    one connection in bulk: ns
 *   load hold WHERE LINE N         N connections that have had a reply; prints "held", and lets go at the end of its input
 *
 * WHERE is a port of 127.0.0.1 or the path of a Unix socket; LINE is sent first, with a newline, unless it is empty. Then come
 * a letter and a number of bytes, which tell the backend what to do: 'E' echo all that follows, 'U' read so many and answer
 * with one byte, 'D' send so many. What begins with a NUL, as an agent's requests do, is echoed from there on. */

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/parse.h"
#include "basic/str.h"

#define BUFFER_SIZE (256 * KIB)
#define FDS_MAX 20000
#define BACKLOG 4096
#define REQUEST_MIN 14 /* bytes of the shortest request to an agent that is used here */
#define EVENTS_MAX 64
#define NSEC_PER_SEC UINT64_C(1000000000)

typedef struct Order {
        char kind; /* 'E', 'U' or 'D' */
        uint64_t n;
} __attribute__((packed)) Order;

typedef struct Where {
        union {
                struct sockaddr any;
                struct sockaddr_in in;
                struct sockaddr_un un;
        } address;
        socklen_t length;
        char start[256]; /* what opens a connection */
        size_t n_start;
} Where;

static char buffer[BUFFER_SIZE];
static char payload[BUFFER_SIZE];

static _noreturn_ void die(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static uint64_t now_nsec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * NSEC_PER_SEC + (uint64_t) ts.tv_nsec;
}

static uint64_t number(const char *s) {
        uint64_t n;

        if (parse_uint(s, 0, UINT64_MAX, &n) < 0) {
                (void) fprintf(stderr, "no number: %s\n", s);
                exit(EXIT_FAILURE);
        }

        return n;
}

static void send_all(int fd, const void *data, size_t n) {
        const char *p = data;

        while (n > 0) {
                ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

                if (k <= 0)
                        die("send");
                p += k;
                n -= (size_t) k;
        }
}

static void receive(int fd, uint64_t n) {
        while (n > 0) {
                ssize_t k = recv(fd, buffer, MIN(n, (uint64_t) sizeof(buffer)), 0);

                if (k <= 0)
                        die("recv");
                n -= (uint64_t) k;
        }
}

/* The backend */

static int listen_at(const struct sockaddr *address, socklen_t n) {
        int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 || bind(fd, address, n) < 0 || listen(fd, BACKLOG) < 0)
                die("listen");

        return fd;
}

static int listen_unix(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };

        if (strlen(path) >= sizeof(address.sun_path))
                exit(EXIT_FAILURE);
        (void) strcpy(address.sun_path, path);
        (void) unlink(path);
        return listen_at((const struct sockaddr *) &address, sizeof(address));
}

static int listen_tcp(void) {
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t n = sizeof(address);
        int fd = listen_at((const struct sockaddr *) &address, n);

        (void) getsockname(fd, (struct sockaddr *) &address, &n);
        (void) printf("%u\n", ntohs(address.sin_port));
        (void) fflush(stdout);
        return fd;
}

static void watch(int epoll, int fd, uint32_t events) {
        struct epoll_event e = { .events = events, .data.fd = fd };

        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) < 0)
                die("epoll_ctl");
}

static void accept_all(int epoll, int listening) {
        const int yes = 1;
        int fd;

        while ((fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
                (void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
                watch(epoll, fd, EPOLLIN);
        }
}

/* In bulk there is one connection, which gets all the attention. */
static void serve_bulk(int fd, const Order *order) {
        if (order->kind == 'U') {
                receive(fd, order->n);
                send_all(fd, "", 1);
                return;
        }

        for (uint64_t left = order->n; left > 0;) {
                size_t n = (size_t) MIN(left, (uint64_t) sizeof(buffer));

                send_all(fd, buffer, n);
                left -= n;
        }
}

/* Orders come in one piece: they are small, and nothing is before them. */
static bool take_order(int fd) {
        Order order = {};

        if (recv(fd, &order, sizeof(order), MSG_PEEK) <= 0)
                return false;
        if (order.kind == '\0')
                return true;
        if (recv(fd, &order, sizeof(order), 0) != sizeof(order))
                return false;

        if (order.kind != 'E')
                serve_bulk(fd, &order);
        return true;
}

/* Returns false at the end of the connection. */
static bool serve(int fd, bool *greeted) {
        ssize_t k;

        if (!*greeted)
                return *greeted = take_order(fd);

        k = recv(fd, buffer, sizeof(buffer), 0);
        return k > 0 && send(fd, buffer, (size_t) k, MSG_NOSIGNAL) == k;
}

static _noreturn_ void backend(const char *path) {
        static bool greeted[FDS_MAX];
        int epoll = epoll_create1(EPOLL_CLOEXEC), un = listen_unix(path), tcp = listen_tcp();

        watch(epoll, un, EPOLLIN);
        watch(epoll, tcp, EPOLLIN);

        for (;;) {
                struct epoll_event events[EVENTS_MAX];
                int n = epoll_wait(epoll, events, ELEMENTSOF(events), -1);

                for (int i = 0; i < n; i++) {
                        int fd = events[i].data.fd;

                        if (fd == un || fd == tcp)
                                accept_all(epoll, fd);
                        else if (!serve(fd, &greeted[fd])) {
                                greeted[fd] = false;
                                (void) close(fd);
                        }
                }
        }
}

/* Clients */

static Where where_parse(const char *text, const char *line) {
        Where w = {};
        int n;

        if (text[0] == '/') {
                w.address.un.sun_family = AF_UNIX;
                w.length = sizeof(w.address.un);
                (void) strncpy(w.address.un.sun_path, text, sizeof(w.address.un.sun_path) - 1);
        } else {
                w.address.in.sin_family = AF_INET;
                w.address.in.sin_port = htons((uint16_t) number(text));
                w.address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                w.length = sizeof(w.address.in);
        }

        n = snprintf(w.start, sizeof(w.start), "%s%s", line, *line ? "\n" : "");
        w.n_start = (size_t) n;
        return w;
}

static void where_order(Where *w, char kind, uint64_t n) {
        const Order order = { .kind = kind, .n = n };

        memcpy(w->start + w->n_start, &order, sizeof(order));
        w->n_start += sizeof(order);
}

/* Each from another address of the loopback, so that ports do not run out. */
static int client_socket(const Where *w, int flags) {
        struct sockaddr_in from = { .sin_family = AF_INET };
        const int yes = 1;
        static uint32_t turn;
        int fd;

        fd = socket(w->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
        if (fd < 0)
                die("socket");
        if (w->address.any.sa_family != AF_INET)
                return fd;

        from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 256 + turn++ % 250);
        (void) setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
        (void) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        if (bind(fd, (const struct sockaddr *) &from, sizeof(from)) < 0)
                die("bind");

        return fd;
}

static int client_open(const Where *w) {
        int fd = client_socket(w, 0);

        if (connect(fd, &w->address.any, w->length) < 0)
                die("connect");

        return fd;
}

/* Connects, and sends what opens the connection and `size` bytes more in one piece, as an agent's client may. */
static int client_begin(const Where *w, size_t size) {
        int fd = client_open(w);

        memcpy(buffer, w->start, w->n_start);
        memcpy(buffer + w->n_start, payload, size);
        send_all(fd, buffer, w->n_start + size);
        return fd;
}

static int compare(const void *a, const void *b) {
        const uint64_t *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

static void print_times(uint64_t *times, size_t n) {
        qsort(times, n, sizeof(*times), compare);
        (void) printf("%llu %llu\n", (unsigned long long) times[n / 2], (unsigned long long) times[n * 99 / 100]);
}

/* An extension that may pass, "query", and what follows its name. */
static void make_request(size_t size) {
        const uint32_t length = htonl((uint32_t) (size - sizeof(uint32_t)));

        memcpy(payload, &length, sizeof(length));
        memcpy(payload + sizeof(length), "\x1b\0\0\0\x05query", STRLEN("\x1b\0\0\0\x05query"));
}

/* Round trips on one connection that stays open, or of a new one each. */
static void measure(Where *w, bool open, size_t size, size_t n) {
        _cleanup_free_ uint64_t *times = new (uint64_t, n);
        int fd = -EBADF;

        if (!times || n == 0)
                exit(EXIT_FAILURE);
        if (open) {
                fd = client_begin(w, size);
                receive(fd, size);
        }

        for (size_t i = 0; i < n; i++) {
                uint64_t start = now_nsec();

                if (open)
                        send_all(fd, payload, size);
                else
                        fd = client_begin(w, size);
                receive(fd, size);
                times[i] = now_nsec() - start;
                if (!open)
                        fd = fd_close(fd);
        }

        fd_close(fd);
        print_times(times, n);
}

static void bulk(Where *w, char kind, uint64_t n) {
        uint64_t start;
        int fd;

        where_order(w, kind, n);
        fd = client_begin(w, 0);
        start = now_nsec();
        if (kind == 'U') {
                for (uint64_t left = n; left > 0; left -= MIN(left, (uint64_t) sizeof(buffer)))
                        send_all(fd, buffer, (size_t) MIN(left, (uint64_t) sizeof(buffer)));
                n = 1;
        }
        receive(fd, n);
        (void) printf("%llu\n", (unsigned long long) (now_nsec() - start));
        fd_close(fd);
}

static void hold(Where *w, size_t n) {
        char c;

        where_order(w, 'E', 0);
        for (size_t i = 0; i < n; i++)
                receive(client_begin(w, 1), 1);

        (void) printf("held\n");
        (void) fflush(stdout);
        while (read(STDIN_FILENO, &c, 1) > 0)
                ;
}

/* One of many clients: begins, and is called again when its connection is writable, then readable. */

static int rate_begin(const Where *w, int epoll) {
        int fd = client_socket(w, SOCK_NONBLOCK);

        if (connect(fd, &w->address.any, w->length) < 0 && errno != EINPROGRESS) {
                fd_close(fd);
                return -EBADF;
        }

        watch(epoll, fd, EPOLLOUT);
        return fd;
}

typedef enum RateStep {
        RATE_GOES_ON,
        RATE_REPLIED,
        RATE_FAILED,
} RateStep;

static RateStep rate_step(const Where *w, int epoll, const struct epoll_event *e) {
        struct epoll_event next = { .events = EPOLLIN, .data.fd = e->data.fd };

        if (e->events & EPOLLOUT) {
                memcpy(buffer, w->start, w->n_start);
                if (send(e->data.fd, buffer, w->n_start + 1, MSG_NOSIGNAL) != (ssize_t) w->n_start + 1)
                        return RATE_FAILED;
                return epoll_ctl(epoll, EPOLL_CTL_MOD, e->data.fd, &next) < 0 ? RATE_FAILED : RATE_GOES_ON;
        }

        return recv(e->data.fd, buffer, 1, 0) == 1 ? RATE_REPLIED : RATE_FAILED;
}

static void rate(Where *w, size_t n, uint64_t msec) {
        uint64_t replied = 0, failed = 0, start, end;
        int epoll = epoll_create1(EPOLL_CLOEXEC);

        where_order(w, 'E', 0);
        start = now_nsec();
        end = start + msec * NSEC_PER_SEC / 1000;
        for (size_t i = 0; i < n; i++)
                failed += rate_begin(w, epoll) < 0;

        while (now_nsec() < end) {
                struct epoll_event events[EVENTS_MAX];
                int k = epoll_wait(epoll, events, ELEMENTSOF(events), (int) msec);

                for (int i = 0; i < k; i++) {
                        RateStep step = rate_step(w, epoll, &events[i]);

                        if (step == RATE_GOES_ON)
                                continue;
                        replied += step == RATE_REPLIED;
                        failed += step == RATE_FAILED;
                        (void) close(events[i].data.fd);
                        failed += rate_begin(w, epoll) < 0;
                }
        }

        (void) printf("%llu %llu %llu\n", (unsigned long long) replied, (unsigned long long) failed,
                        (unsigned long long) (now_nsec() - start));
}

static _noreturn_ void usage(void) {
        (void) fprintf(stderr, "usage: see the top of tests/bench/load.c\n");
        exit(EXIT_FAILURE);
}

/* The verbs that take a size and a number. */
static void measure_verb(const char *verb, Where *w, size_t size, size_t n) {
        const size_t least = streq(verb, "agent") ? REQUEST_MIN : 1;

        if (size < least || size > BUFFER_SIZE - sizeof(w->start))
                usage();

        if (streq(verb, "agent"))
                make_request(size);
        else
                where_order(w, 'E', 0);
        measure(w, !streq(verb, "connect"), size, n);
}

int main(int argc, char *argv[]) {
        const struct rlimit limit = { FDS_MAX, FDS_MAX };
        const char *verb = argc > 1 ? argv[1] : "";
        Where w;

        (void) setrlimit(RLIMIT_NOFILE, &limit);
        if (argc == 3 && streq(verb, "backend"))
                backend(argv[2]);
        if (argc < 5)
                usage();

        w = where_parse(argv[2], argv[3]);
        if (argc == 6 && streq(verb, "rate"))
                rate(&w, number(argv[4]), number(argv[5]));
        else if (argc == 6 && (streq(verb, "rtt") || streq(verb, "agent") || streq(verb, "connect")))
                measure_verb(verb, &w, number(argv[4]), number(argv[5]));
        else if (argc == 5 && (streq(verb, "up") || streq(verb, "down")))
                bulk(&w, streq(verb, "up") ? 'U' : 'D', number(argv[4]) * MIB);
        else if (argc == 5 && streq(verb, "hold"))
                hold(&w, number(argv[4]));
        else
                usage();

        return EXIT_SUCCESS;
}
