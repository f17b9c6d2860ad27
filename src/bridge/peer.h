/* SPDX-License-Identifier: MIT */
#pragma once

/* Who is at the other end of a connection? The second factor beside the token. */

#include <netinet/in.h>

#include "basic/macro.h"

typedef enum PeerVerdict {
        PEER_OURS,
        PEER_OURS_BY_UID, /* this user's; the kernel could not say the control group */
        PEER_FOREIGN_UID,
        PEER_FOREIGN_CGROUP, /* this user's, but not of this launch */
        PEER_GONE,           /* closed already */
        PEER_UNKNOWN,        /* nothing could be found out: not let in */
        _PEER_VERDICT_MAX,
} PeerVerdict;

const char *peer_verdict_to_string(PeerVerdict v);

typedef struct Peer {
        uint32_t uid;       /* UID_UNKNOWN when not known */
        uint64_t cgroup_id; /* 0 when not known */
} Peer;

#define UID_UNKNOWN UINT32_MAX

typedef struct PeerCheck PeerCheck;

/* `diag_fd` is a sock_diag socket, which is owned from entry on, on failure too; `ours` the address that
 * peers connect to; `scope` the launch's control group. Returns 0 or negative errno. */
int peer_check_new(int diag_fd, struct sockaddr_in ours, const char *scope, PeerCheck **ret);
PeerCheck *peer_check_free(PeerCheck *c);
DEFINE_CLEANUP(PeerCheck *, peer_check_free);
#define _cleanup_peer_check_ _cleanup_(peer_check_freep)

/* Asks for the socket whose address is `theirs`. `ret` is always filled. */
PeerVerdict peer_check(PeerCheck *c, struct sockaddr_in theirs, Peer *ret);

/* The control group's path for the journal, or its number where the path is not found cheaply. Kept by `c`,
 * valid until the next call; NULL when not known. */
const char *peer_cgroup_name(PeerCheck *c, const Peer *p);
