/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * The port is on 127.0.0.1, so the other end of every connection is a socket of this machine, and the kernel
 * can be asked about it: sock_diag(7), an exact question for one pair of addresses, open to everybody,
 * answered before send(2) returns. It tells the uid of whoever made the socket, and the id of the control
 * group it was made in. A guest's connection comes from the pasta process of its launch, which lives in the
 * launch's scope. So a stolen token is of no use to another user, another process of this user, or another
 * sandbox.
 *
 * The question goes through a netlink socket that the user manager opened: the kernel translates uids to the
 * user namespace of the socket's opener, and in the sandbox of this program everybody else would look like
 * "nobody". A socket opened here would do as well for the verdict (nobody is not us), only not for the log.
 *
 * A connection is told apart from a listening socket on the same address, which the kernel offers when there
 * is no connection, by its peer's address. A socket that no process holds any more has inode 0, and may show
 * uid 0: that is nobody, not root.
 *
 * Whether a control group lies in the scope is looked up once for each and remembered, either way: an id is
 * not used twice, and a control group cannot move to another parent. */

#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "bridge/cgroup-tree.h"
#include "bridge/diag.h"
#include "bridge/peer.h"

#define KNOWN_MAX 64         /* control groups whose verdict is remembered */
#define NAMES_MAX 16         /* control groups whose path is remembered */
#define WALK_MAX 1024        /* directories, for each search */
#define WALK_PAUSE 20        /* times what the last one took, */
#define WALK_FREE_USEC (1 * USEC_PER_MSEC) /* unless that was less */
#define STALE_ANSWERS_MAX 64 /* to questions of a bridge before this one that died in between */
#define ANSWER_SIZE 2048

struct PeerCheck {
        int fd;
        struct sockaddr_in ours;
        uid_t uid;
        const char *mount;
        char *scope;
        uint32_t sequence;
        bool warned;

        struct {
                uint64_t id; /* 0: free */
                bool inside;
        } known[KNOWN_MAX];

        struct {
                uint64_t id;
                char *name;
        } names[NAMES_MAX];
        size_t next_name;
        uint64_t next_walk; /* not before */
};

static const char *const peer_verdict_table[] = {
        [PEER_OURS] = "ours",
        [PEER_OURS_BY_UID] = "ours-by-uid",
        [PEER_FOREIGN_UID] = "foreign-uid",
        [PEER_FOREIGN_CGROUP] = "foreign-cgroup",
        [PEER_GONE] = "peer-gone",
        [PEER_UNKNOWN] = "peer-unknown",
};
static_assert(ELEMENTSOF(peer_verdict_table) == _PEER_VERDICT_MAX, "every verdict has a name");

const char *peer_verdict_to_string(PeerVerdict v) {
        return v < _PEER_VERDICT_MAX ? peer_verdict_table[v] : "?";
}

PeerCheck *peer_check_free(PeerCheck *c) {
        if (!c)
                return NULL;

        for (size_t i = 0; i < NAMES_MAX; i++)
                free(c->names[i].name);
        free(c->scope);
        fd_close(c->fd);
        free(c);
        return NULL;
}

/* Reads one answer of the kernel's. Returns its length, 0 for one from elsewhere, or negative errno. */
static ssize_t receive(int fd, void *buf, size_t size) {
        struct sockaddr_nl from = {};
        socklen_t length = sizeof(from);
        ssize_t n;

        n = recvfrom(fd, buf, size, MSG_DONTWAIT, (struct sockaddr *) &from, &length);
        if (n < 0)
                return errno == EINTR || errno == ENOBUFS ? 0 : -errno;

        return from.nl_pid == 0 ? n : 0;
}

int peer_check_new(int diag_fd, struct sockaddr_in ours, const char *scope, PeerCheck **ret) {
        _cleanup_peer_check_ PeerCheck *c = NULL;
        char buf[ANSWER_SIZE];

        c = new0(PeerCheck, 1);
        if (!c) {
                fd_close(diag_fd);
                return -ENOMEM;
        }

        c->fd = diag_fd;
        c->ours = ours;
        c->uid = getuid();
        c->scope = strdup(scope);
        if (!c->scope)
                return -ENOMEM;
        c->mount = cgroup_tree_mount();
        if (!c->mount)
                return -ENOENT;

        /* The socket outlives us. What is in it would also wake the manager, which would start us again and
         * again. */
        for (size_t i = 0; i < STALE_ANSWERS_MAX; i++)
                if (receive(c->fd, buf, sizeof(buf)) < 0)
                        break;

        *ret = TAKE_PTR(c);
        return 0;
}

static int ask(PeerCheck *c, const DiagPair *pair, DiagAnswer *ret) {
        char request[DIAG_REQUEST_SIZE], buf[ANSWER_SIZE];

        diag_format(pair, ++c->sequence, request);
        if (send(c->fd, request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                return -errno;

        for (size_t i = 0; i < STALE_ANSWERS_MAX; i++) {
                ssize_t n;
                int r;

                n = receive(c->fd, buf, sizeof(buf));
                if (n < 0)
                        return (int) n;
                if (n == 0)
                        continue;

                r = diag_parse(buf, (size_t) n, pair, c->sequence, ret);
                if (r != DIAG_E_OTHER)
                        return r;
        }

        return -EBADMSG;
}

static bool cgroup_is_inside(PeerCheck *c, uint64_t id) {
        size_t i = id % KNOWN_MAX;
        int r;

        if (c->known[i].id == id)
                return c->known[i].inside;

        r = cgroup_tree_find(c->mount, c->scope, id, WALK_MAX, NULL);
        if (r >= 0) {
                c->known[i].id = id;
                c->known[i].inside = r > 0;
        }

        return r > 0;
}

/* Other states belong to another connection with the same two addresses: ours was closed since, and somebody
 * makes a new one. */
static bool state_is_connected(uint8_t state) {
        return state == TCP_ESTABLISHED || state == TCP_FIN_WAIT1 || state == TCP_FIN_WAIT2;
}

PeerVerdict peer_check(PeerCheck *c, struct sockaddr_in theirs, Peer *ret) {
        const DiagPair pair = { .theirs = theirs, .ours = c->ours };
        DiagAnswer answer;
        int r;

        *ret = (Peer) { .uid = UID_UNKNOWN };

        r = ask(c, &pair, &answer);
        if (r == -ENOENT || (r >= 0 && (answer.inode == 0 || !state_is_connected(answer.state))))
                return PEER_GONE;
        if (r < 0) {
                log_debug("Cannot ask for a peer: %s.", strerror(-r));
                return PEER_UNKNOWN;
        }

        *ret = (Peer) { .uid = answer.uid, .cgroup_id = answer.cgroup_id };
        if (answer.uid != c->uid)
                return PEER_FOREIGN_UID;
        if (answer.cgroup_id != 0)
                return cgroup_is_inside(c, answer.cgroup_id) ? PEER_OURS : PEER_FOREIGN_CGROUP;

        if (!c->warned)
                log_warning("This kernel does not tell a connection's control group: "
                            "any process of this user that has the token is let in.");
        c->warned = true;
        return PEER_OURS_BY_UID;
}

/* The whole tree may be large, and whoever finds the port may come from ever other places of it: looking takes
 * a twentieth of the time at most. Returns 1 when found, -EAGAIN when it did not look everywhere. */
static int find_name(PeerCheck *c, uint64_t id, char **ret) {
        uint64_t start, took;
        int r;

        r = cgroup_tree_find(c->mount, c->scope, id, WALK_MAX, ret);
        if (r > 0)
                return r;

        start = now_usec();
        if (start < c->next_walk)
                return -EAGAIN;
        r = cgroup_tree_find(c->mount, "/", id, WALK_MAX, ret);
        took = now_usec() - start;
        if (took > WALK_FREE_USEC)
                c->next_walk = start + WALK_PAUSE * took;
        return r;
}

const char *peer_cgroup_name(PeerCheck *c, const Peer *p) {
        char *name = NULL;
        int r;

        if (p->cgroup_id == 0)
                return NULL;

        for (size_t i = 0; i < NAMES_MAX; i++)
                if (c->names[i].name && c->names[i].id == p->cgroup_id)
                        return c->names[i].name;

        r = find_name(c, p->cgroup_id, &name);
        if (r <= 0 && asprintf_to(&name, "%llu", (unsigned long long) p->cgroup_id) < 0)
                return NULL;

        free(c->names[c->next_name].name);
        c->names[c->next_name].id = r == -EAGAIN ? 0 : p->cgroup_id;
        c->names[c->next_name].name = name;
        c->next_name = (c->next_name + 1) % NAMES_MAX;
        return name;
}
