/* SPDX-License-Identifier: MIT */

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "launch/ssh-agents.h"

enum {
        SSH_AGENTC_REQUEST_IDENTITIES = 11,
        SSH_AGENT_IDENTITIES_ANSWER = 12,
};

/* length (4), type (1), number of keys (4), all big-endian */
#define ANSWER_SIZE 9
#define REST_MAX (256 * KIB)

typedef struct Probe {
        int fd;
        unsigned char answer[ANSWER_SIZE];
        size_t n;
} Probe;

static int agent_connect(const char *path) {
        static const unsigned char request[] = { 0, 0, 0, 1, SSH_AGENTC_REQUEST_IDENTITIES };
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        int fd;

        if (strlen(path) >= sizeof(sa.sun_path))
                return -ENAMETOOLONG;
        (void) stpcpy(sa.sun_path, path);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;

        /* A full backlog is EAGAIN here: an agent that does not accept is as good as dead. */
        if (connect(fd, (struct sockaddr *) &sa, sizeof(sa)) < 0 ||
                        !fd_peer_is_this_user(fd) || send(fd, request, sizeof(request), MSG_NOSIGNAL) != (ssize_t) sizeof(request))
                return fd_close(fd);

        return fd;
}

/* Reads what has come. Returns whether the probe is over. */
static bool probe_read(Probe *probe, AgentState *state) {
        ssize_t k;

        k = read(probe->fd, probe->answer + probe->n, ANSWER_SIZE - probe->n);
        if (k < 0)
                return errno != EAGAIN && errno != EINTR;
        if (k == 0)
                return true;

        probe->n += (size_t) k;
        if (probe->n < ANSWER_SIZE)
                return false;

        if (probe->answer[4] == SSH_AGENT_IDENTITIES_ANSWER)
                *state = (probe->answer[5] | probe->answer[6] | probe->answer[7] | probe->answer[8]) ? AGENT_KEYS : AGENT_EMPTY;
        return true;
}

/* What is left unread an agent notes as an error ("Connection reset by peer"). */
static void probe_close(Probe *probe) {
        char rest[4 * KIB];

        for (unsigned i = 0; probe->fd >= 0 && i < REST_MAX / sizeof(rest); i++)
                if (read(probe->fd, rest, sizeof(rest)) <= 0)
                        break;

        fd_close(probe->fd);
}

void ssh_agents_probe(char *const *paths, AgentState *states, size_t n, uint64_t timeout_usec) {
        uint64_t deadline = now_usec() + timeout_usec;
        struct pollfd pfds[SSH_AGENTS_PROBE_MAX];
        Probe probes[SSH_AGENTS_PROBE_MAX];
        size_t open = 0;

        for (size_t i = 0; i < n; i++)
                states[i] = AGENT_DEAD;

        n = MIN(n, (size_t) SSH_AGENTS_PROBE_MAX);
        for (size_t i = 0; i < n; i++) {
                probes[i] = (Probe) { .fd = agent_connect(paths[i]) };
                pfds[i] = (struct pollfd) { .fd = probes[i].fd, .events = POLLIN };
                open += probes[i].fd >= 0;
        }

        while (open > 0) {
                uint64_t now = now_usec();

                if (now >= deadline)
                        break;
                if (poll(pfds, n, (int) ((deadline - now) / USEC_PER_MSEC) + 1) <= 0)
                        continue;

                for (size_t i = 0; i < n; i++)
                        if (pfds[i].fd >= 0 && pfds[i].revents && probe_read(&probes[i], &states[i])) {
                                pfds[i].fd = -1;
                                open--;
                        }
        }

        for (size_t i = 0; i < n; i++)
                probe_close(&probes[i]);
}
