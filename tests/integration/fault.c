/* SPDX-License-Identifier: MIT */

/* For LD_PRELOAD into the launcher: one of its calls of the functions below goes wrong. Only calls of the process that was started
 * count, not of what it forks. Without FAULT_AT they are only listed.
 *
 *   FAULT_LOG=FILE         each call as a line "function argument", before the one that goes wrong a line "fault"
 *   FAULT_AT=N             the N-th one
 *   FAULT_FUNCTION=NAME    … of this function
 *   FAULT_BEGIN=S, _END=S  … with an argument that begins and ends so
 *   FAULT_ERRNO=E          fails with that error
 *   FAULT_SIGNAL=S         comes just after that signal
 *   FAULT_PORTS=P,…        what getsockname() says of sockets on the loopback address: these ports first, one a call */

#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pid_t self;
static int log_fd = -1;
static long calls, at, error_number, signal_number;
static const char *ports, *wanted = "", *begin = "", *end = "";

__attribute__((constructor)) static void set_up(void) {
        const char *log = getenv("FAULT_LOG");

        self = getpid();
        if (log)
                log_fd = fcntl(open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), F_DUPFD_CLOEXEC, 500);
        at = atol(getenv("FAULT_AT") ?: "0");
        error_number = atol(getenv("FAULT_ERRNO") ?: "0");
        signal_number = atol(getenv("FAULT_SIGNAL") ?: "0");
        ports = getenv("FAULT_PORTS");
        wanted = getenv("FAULT_FUNCTION") ?: "";
        begin = getenv("FAULT_BEGIN") ?: "";
        end = getenv("FAULT_END") ?: "";
}

static bool is_wanted(const char *function, const char *argument) {
        size_t n = strlen(argument), k = strlen(end);

        return strcmp(function, wanted) == 0 && strncmp(argument, begin, strlen(begin)) == 0 && n >= k &&
                strcmp(argument + n - k, end) == 0;
}

/* Whether this call has to fail; errno is set. */
static bool fails(const char *function, const char *argument) {
        int saved = errno;
        bool hit;

        if (getpid() != self)
                return false;

        hit = is_wanted(function, argument) && ++calls == at;
        if (log_fd >= 0)
                dprintf(log_fd, "%s%s %s\n", hit ? "fault\n" : "", function, argument);
        errno = saved;
        if (!hit)
                return false;

        if (signal_number > 0)
                (void) kill(self, (int) signal_number);
        if (error_number > 0)
                errno = (int) error_number;
        return error_number > 0;
}

#define REAL(name) ((__typeof__(name) *) dlsym(RTLD_NEXT, #name))

#define WRAP(name, argument, parameters, ...)             \
        int name parameters {                             \
                return fails(#name, argument) ? -1 : REAL(name)(__VA_ARGS__); \
        }

WRAP(mkdir, path, (const char *path, mode_t mode), path, mode)
WRAP(mkdirat, path, (int fd, const char *path, mode_t mode), fd, path, mode)
WRAP(renameat, to, (int a, const char *from, int b, const char *to), a, from, b, to)
WRAP(renameat2, to, (int a, const char *from, int b, const char *to, unsigned flags), a, from, b, to, flags)
WRAP(symlinkat, to, (const char *from, int fd, const char *to), from, fd, to)
WRAP(fchmod, "", (int fd, mode_t mode), fd, mode)
WRAP(flock, "", (int fd, int operation), fd, operation)
WRAP(socket, "", (int domain, int type, int protocol), domain, type, protocol)
WRAP(connect, "", (int fd, const struct sockaddr *sa, socklen_t n), fd, sa, n)
WRAP(bind, "", (int fd, const struct sockaddr *sa, socklen_t n), fd, sa, n)
WRAP(pipe2, "", (int fds[2], int flags), fds, flags)
WRAP(fork, "", (void))
WRAP(inotify_init1, "", (int flags), flags)
WRAP(inotify_add_watch, path, (int fd, const char *path, uint32_t mask), fd, path, mask)
WRAP(epoll_create1, "", (int flags), flags)
WRAP(signalfd, "", (int fd, const sigset_t *set, int flags), fd, set, flags)

ssize_t send(int fd, const void *data, size_t n, int flags) {
        return fails("send", "") ? -1 : REAL(send)(fd, data, n, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags) {
        return fails("sendmsg", "") ? -1 : REAL(sendmsg)(fd, m, flags);
}

ssize_t write(int fd, const void *data, size_t n) {
        return fd != STDERR_FILENO && fails("write", "") ? -1 : REAL(write)(fd, data, n);
}

static mode_t mode_of(int flags, va_list ap) {
        return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

/* Under both names: programs for large files call the second. */
#define WRAP_OPEN(name)                                                          \
        int name(const char *path, int flags, ...) {                             \
                va_list ap;                                                      \
                mode_t mode;                                                     \
                                                                                 \
                va_start(ap, flags);                                             \
                mode = mode_of(flags, ap);                                       \
                va_end(ap);                                                      \
                return fails("open", path) ? -1 : REAL(open)(path, flags, mode); \
        }

#define WRAP_OPENAT(name)                                                                \
        int name(int fd, const char *path, int flags, ...) {                             \
                va_list ap;                                                              \
                mode_t mode;                                                             \
                                                                                         \
                va_start(ap, flags);                                                     \
                mode = mode_of(flags, ap);                                               \
                va_end(ap);                                                              \
                return fails("openat", path) ? -1 : REAL(openat)(fd, path, flags, mode); \
        }

WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

int getsockname(int fd, struct sockaddr *sa, socklen_t *n) {
        int r = REAL(getsockname)(fd, sa, n);

        if (r >= 0 && ports && *ports && sa->sa_family == AF_INET && getpid() == self) {
                ((struct sockaddr_in *) (void *) sa)->sin_port = htons((uint16_t) strtol(ports, (char **) &ports, 10));
                ports += *ports == ',';
        }
        return r;
}
