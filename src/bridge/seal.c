/* SPDX-License-Identifier: MIT */

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "basic/macro.h"
#include "bridge/seal.h"

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define IF_EQUAL(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define IF_SET(bits, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), (then), (otherwise))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))

/* The half of an argument that the kernel looks at where it takes an int. */
#define ARGUMENT(i) \
        (offsetof(struct seccomp_data, args) + (i) * sizeof(uint64_t) + (BYTE_ORDER == BIG_ENDIAN ? sizeof(uint32_t) : 0))

/* Where there are two, on 32 bits, both are looked at. */
#ifndef SYS_fcntl64
#define SYS_fcntl64 SYS_fcntl
#endif

int seal(void) {
        /* Calls by another architecture's numbers are for the unit to forbid (SystemCallArchitectures=). */
        struct sock_filter filter[] = {
                LOAD(offsetof(struct seccomp_data, nr)),
                IF_EQUAL(SYS_sched_setattr, 16, 0),
                IF_EQUAL(SYS_sendmsg, 15, 0),
                IF_EQUAL(SYS_sendmmsg, 14, 0),
                IF_EQUAL(SYS_listen, 13, 0),
                IF_EQUAL(SYS_bind, 12, 0),
                IF_EQUAL(SYS_prlimit64, 0, 2),
                LOAD(ARGUMENT(0)),
                IF_EQUAL(0, 10, 9), /* 0 is ourselves */
                IF_EQUAL(SYS_sendto, 0, 2),
                LOAD(ARGUMENT(3)),
                IF_SET(MSG_FASTOPEN, 6, 7),
                IF_EQUAL(SYS_fcntl64, 1, 0),
                IF_EQUAL(SYS_fcntl, 0, 5),
                LOAD(ARGUMENT(1)),
                IF_EQUAL(F_SETOWN, 2, 0),
                IF_EQUAL(F_SETOWN_EX, 1, 0),
                IF_EQUAL(F_SETSIG, 0, 1),
                RETURN(SECCOMP_RET_ERRNO | EPERM),
                RETURN(SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = { .len = ELEMENTSOF(filter), .filter = filter };

        if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
                return 0;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                return -errno;

        return 1;
}
