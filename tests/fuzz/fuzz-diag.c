/* SPDX-License-Identifier: MIT */

/* An answer of the kernel about a peer. Only one about the very connection that was asked for counts, and only what belongs
 * to its message is looked at. */

#include <arpa/inet.h>
#include <string.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>

#include "bridge/diag.h"
#include "fuzz.h"

#define SEQUENCE 0x01020304

static bool same_answer(const DiagAnswer *a, const DiagAnswer *b) {
        return a->state == b->state && a->uid == b->uid && a->inode == b->inode && a->cgroup_id == b->cgroup_id;
}

static void check_answer(const uint8_t *data, size_t size, const DiagPair *pair, const DiagAnswer *answer) {
        struct inet_diag_msg m;
        struct nlmsghdr header;

        PROPERTY(size >= NLMSG_HDRLEN + sizeof(m));
        memcpy(&header, data, sizeof(header));
        memcpy(&m, data + NLMSG_HDRLEN, sizeof(m));

        PROPERTY(header.nlmsg_seq == SEQUENCE && header.nlmsg_len <= size);
        PROPERTY(m.id.idiag_sport == pair->theirs.sin_port && m.id.idiag_dport == pair->ours.sin_port);
        PROPERTY(m.id.idiag_src[0] == pair->theirs.sin_addr.s_addr && m.id.idiag_dst[0] == pair->ours.sin_addr.s_addr);
        PROPERTY(answer->uid == m.idiag_uid && answer->state == m.idiag_state && answer->inode == m.idiag_inode);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const struct in_addr loopback = { .s_addr = htonl(INADDR_LOOPBACK) };
        const DiagPair pair = {
                .theirs = { .sin_family = AF_INET, .sin_port = htons(40000), .sin_addr = loopback },
                .ours = { .sin_family = AF_INET, .sin_port = htons(7001), .sin_addr = loopback },
        };
        DiagAnswer answer = {}, part = {};
        int r;

        r = diag_parse(data, size, &pair, SEQUENCE, &answer);
        PROPERTY(r <= DIAG_E_OTHER);
        if (r == 0)
                check_answer(data, size, &pair, &answer);
        else
                PROPERTY(same_answer(&answer, &part));

        /* One that was cut off is none. */
        for (size_t n = 0; r == 0 && n < size; n++) {
                int k;

                k = diag_parse(data, n, &pair, SEQUENCE, &part);
                PROPERTY(k == -EBADMSG || (k == 0 && same_answer(&answer, &part)));
        }

        return 0;
}
