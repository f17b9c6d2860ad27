/* SPDX-License-Identifier: MIT */

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/ssh-agents.h"
#include "shared/ssh-key.h"

#define LIST_HEAD ((size_t) 5) /* bytes of a message: its type, and how many keys follow */
#define REST_MAX (256 * KIB)
#define FIND_USEC (500 * USEC_PER_MSEC)

typedef struct Probe {
        int fd;
        uint8_t *answer; /* room for SSH_AGENT_FRAME_MAX bytes */
        size_t n;
} Probe;

static int agent_connect(const char *path) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        int fd;

        if (strlen(path) >= sizeof(sa.sun_path))
                return -ENAMETOOLONG;
        (void) stpcpy(sa.sun_path, path);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;

        /* A full backlog is EAGAIN here: an agent that does not accept is as good as dead. */
        if (connect(fd, (struct sockaddr *) &sa, sizeof(sa)) < 0 || !fd_peer_is_this_user(fd) ||
                        send(fd, SSH_AGENT_FRAME_LIST, STRLEN(SSH_AGENT_FRAME_LIST), MSG_NOSIGNAL) != STRLEN(SSH_AGENT_FRAME_LIST))
                return fd_close(fd);

        return fd;
}

static AgentState state_of_list(SshBytes message, char *const *selectors) {
        SshIdentity identity;
        SshIdentities i;
        bool wanted = false;

        ssh_identities_begin(&i, message);
        while (ssh_identities_next(&i, &identity)) {
                char fingerprint[SSH_FINGERPRINT_SIZE];

                ssh_key_fingerprint(identity.key, fingerprint);
                wanted = wanted || ssh_key_is_selected(selectors, fingerprint, &identity.comment);
        }

        return !i.ok ? AGENT_DEAD : wanted ? AGENT_KEYS : AGENT_EMPTY;
}

/* Judges what there is of the answer. Returns whether that is enough. */
static bool probe_judge(const Probe *probe, char *const *selectors, AgentState *state) {
        SshBytes message = SSH_BYTES(probe->answer, probe->n);
        SshIdentities i;
        uint32_t n;

        if (!ssh_take_u32(&message, &n))
                return false;
        if (n > SSH_AGENT_MESSAGE_MAX)
                return true;

        if (selectors) {
                if (message.n < n)
                        return false;
                *state = state_of_list(SSH_BYTES(message.p, n), selectors);
                return true;
        }

        ssh_identities_begin(&i, message);
        if (i.ok)
                *state = i.left > 0 ? AGENT_KEYS : AGENT_EMPTY;
        return i.ok || message.n >= MIN(n, LIST_HEAD);
}

/* Reads what has come. Returns whether the probe is over. */
static bool probe_read(Probe *probe, char *const *selectors, AgentState *state) {
        ssize_t k;

        k = read(probe->fd, probe->answer + probe->n, SSH_AGENT_FRAME_MAX - probe->n);
        if (k < 0)
                return errno != EAGAIN && errno != EINTR;
        if (k == 0)
                return true;

        probe->n += (size_t) k;
        return probe_judge(probe, selectors, state);
}

/* What is left unread an agent notes as an error ("Connection reset by peer"). */
static void probe_close(Probe *probe) {
        char rest[4 * KIB];

        for (unsigned i = 0; probe->fd >= 0 && i < REST_MAX / sizeof(rest); i++)
                if (read(probe->fd, rest, sizeof(rest)) <= 0)
                        break;

        fd_close(probe->fd);
        free(probe->answer);
}

static void probe_begin(Probe *probe, const char *path) {
        *probe = (Probe) { .fd = -EBADF, .answer = malloc(SSH_AGENT_FRAME_MAX) };
        if (probe->answer)
                probe->fd = agent_connect(path);
}

void ssh_agents_probe(char *const *paths, AgentState *states, size_t n, char *const *selectors, uint64_t timeout_usec) {
        uint64_t deadline = now_usec() + timeout_usec;
        struct pollfd pfds[SSH_AGENTS_PROBE_MAX];
        Probe probes[SSH_AGENTS_PROBE_MAX];
        size_t open = 0;

        for (size_t i = 0; i < n; i++)
                states[i] = AGENT_DEAD;

        n = MIN(n, (size_t) SSH_AGENTS_PROBE_MAX);
        for (size_t i = 0; i < n; i++) {
                probe_begin(&probes[i], paths[i]);
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
                        if (pfds[i].fd >= 0 && pfds[i].revents && probe_read(&probes[i], selectors, &states[i])) {
                                pfds[i].fd = -1;
                                open--;
                        }
        }

        for (size_t i = 0; i < n; i++)
                probe_close(&probes[i]);
}

static void candidate_add(SshAgents *a, char *path) {
        struct stat x, y;

        if (!path || path[0] != '/' || stat(path, &x) < 0 || !S_ISSOCK(x.st_mode))
                return;
        for (size_t i = 0; i < a->n; i++)
                if (stat(a->paths[i], &y) >= 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino)
                        return;

        a->paths[a->n++] = path;
}

int ssh_agents_find(const char *home, char *const *selectors, SshAgents *ret) {
        SshAgents a = { .onepassword = path_join(home, ".1password/agent.sock") };

        if (!a.onepassword)
                return -ENOMEM;

        candidate_add(&a, getenv("SSH_AUTH_SOCK"));
        candidate_add(&a, a.onepassword);
        ssh_agents_probe(a.paths, a.states, a.n, selectors, FIND_USEC);

        *ret = a;
        return 0;
}

void ssh_agents_clear(SshAgents *a) {
        free(a->onepassword);
        *a = (SshAgents) { 0 };
}
