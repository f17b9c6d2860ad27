/* SPDX-License-Identifier: MIT */

#include <string.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>

#include "bridge/diag.h"

#define HEADER_SIZE ((size_t) NLMSG_HDRLEN)

static_assert(HEADER_SIZE + sizeof(struct inet_diag_req_v2) == DIAG_REQUEST_SIZE,
                "the size of the question");

static struct inet_diag_sockid diag_id(const DiagPair *pair) {
        return (struct inet_diag_sockid) {
                .idiag_sport = pair->theirs.sin_port,
                .idiag_dport = pair->ours.sin_port,
                .idiag_src = { pair->theirs.sin_addr.s_addr },
                .idiag_dst = { pair->ours.sin_addr.s_addr },
                .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
        };
}

void diag_format(const DiagPair *pair, uint32_t sequence, void *buf) {
        const struct nlmsghdr header = {
                .nlmsg_len = DIAG_REQUEST_SIZE,
                .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                .nlmsg_flags = NLM_F_REQUEST,
                .nlmsg_seq = sequence,
        };
        const struct inet_diag_req_v2 request = {
                .sdiag_family = AF_INET,
                .sdiag_protocol = IPPROTO_TCP,
                .idiag_states = ~0U,
                .id = diag_id(pair),
        };

        memcpy(buf, &header, sizeof(header));
        memcpy((char *) buf + HEADER_SIZE, &request, sizeof(request));
}

static int parse_error(const char *p, size_t n) {
        struct nlmsgerr e;

        if (n < sizeof(e))
                return -EBADMSG;

        memcpy(&e, p, sizeof(e));
        return e.error < 0 ? e.error : -EBADMSG;
}

/* The kernel looks among the listening sockets when it finds no connection; those name no peer. */
static bool is_same_connection(const struct inet_diag_sockid *id, const DiagPair *pair) {
        const struct inet_diag_sockid wanted = diag_id(pair);

        return id->idiag_sport == wanted.idiag_sport && id->idiag_dport == wanted.idiag_dport &&
               id->idiag_src[0] == wanted.idiag_src[0] && id->idiag_dst[0] == wanted.idiag_dst[0];
}

static int parse_attributes(const char *p, size_t n, DiagAnswer *answer) {
        while (n >= sizeof(struct rtattr)) {
                struct rtattr a;
                size_t padded;

                memcpy(&a, p, sizeof(a));
                if (a.rta_len < sizeof(a) || a.rta_len > n)
                        return -EBADMSG;

                if (a.rta_type == INET_DIAG_CGROUP_ID) {
                        if (a.rta_len != sizeof(a) + sizeof(answer->cgroup_id))
                                return -EBADMSG;
                        memcpy(&answer->cgroup_id, p + sizeof(a), sizeof(answer->cgroup_id));
                }

                padded = RTA_ALIGN((size_t) a.rta_len);
                if (padded >= n)
                        break;
                p += padded;
                n -= padded;
        }

        return 0;
}

int diag_parse(const void *buf, size_t n, const DiagPair *pair, uint32_t sequence, DiagAnswer *ret) {
        const char *p = buf;
        struct inet_diag_msg m;
        struct nlmsghdr header;
        DiagAnswer answer;
        int r;

        if (n < HEADER_SIZE)
                return -EBADMSG;
        memcpy(&header, p, sizeof(header));
        if (header.nlmsg_len < HEADER_SIZE || header.nlmsg_len > n)
                return -EBADMSG;
        if (header.nlmsg_seq != sequence)
                return DIAG_E_OTHER;

        p += HEADER_SIZE;
        n = header.nlmsg_len - HEADER_SIZE;
        if (header.nlmsg_type == NLMSG_ERROR)
                return parse_error(p, n);
        if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < sizeof(m))
                return -EBADMSG;

        memcpy(&m, p, sizeof(m));
        if (m.idiag_family != AF_INET)
                return -EBADMSG;
        if (!is_same_connection(&m.id, pair))
                return -ENOENT;

        answer = (DiagAnswer) { .state = m.idiag_state, .uid = m.idiag_uid, .inode = m.idiag_inode };
        r = parse_attributes(p + NLMSG_ALIGN(sizeof(m)), n - MIN(n, NLMSG_ALIGN(sizeof(m))), &answer);
        if (r < 0)
                return r;

        *ret = answer;
        return 0;
}
