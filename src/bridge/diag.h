/* SPDX-License-Identifier: MIT */
#pragma once

/* sock_diag(7), as pure functions: whose is the other end of a TCP connection? One exact question, one
 * answer, no dump. */

#include <netinet/in.h>

#include "basic/macro.h"

#define DIAG_REQUEST_SIZE 72

typedef struct DiagPair {
        struct sockaddr_in theirs; /* the socket that is asked about: its own address */
        struct sockaddr_in ours;   /* and its peer's */
} DiagPair;

typedef struct DiagAnswer {
        uint8_t state; /* of TCP, as in the kernel: 1 established, 5 FIN-WAIT-2… */
        uint32_t uid;
        uint32_t inode;     /* 0: no process holds the socket any more */
        uint64_t cgroup_id; /* 0: the kernel does not say */
} DiagAnswer;

enum {
        DIAG_E_OTHER = 1, /* an answer to another question: read on */
};

/* Writes the question, DIAG_REQUEST_SIZE bytes. */
void diag_format(const DiagPair *pair, uint32_t sequence, void *buf);

/* Reads what came back. Returns 0, DIAG_E_OTHER, -EBADMSG, or the kernel's own errno: -ENOENT when there is
 * no such socket. */
int diag_parse(const void *buf, size_t n, const DiagPair *pair, uint32_t sequence, DiagAnswer *ret);
