/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "basic/macro.h"
#include "bridge/slice.h"

#define SLICE_NSEC (4 * 1000 * 1000) /* others have 0.7 to 2.8 ms, by the number of processors */

static_assert(sizeof(SchedAttr) == 48, "the system call's first version");

static int ask(void) {
        SchedAttr a = {};

        /* What else it says, nice level and flags, stays. */
        if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) < 0)
                return -errno;
        if (a.policy != SCHED_OTHER && a.policy != SCHED_BATCH)
                return 0;

        a.runtime = SLICE_NSEC;
        return syscall(SYS_sched_setattr, 0, &a, 0) < 0 ? -errno : 0;
}

/* Where no filter forbids worse, in a test or a debugger, nothing is won. Calls by another architecture's
 * numbers are for the unit to forbid (SystemCallArchitectures=). */
static int give_up_the_right(void) {
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setattr, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const struct sock_fprog program = { .len = ELEMENTSOF(filter), .filter = filter };

        if (prctl(PR_GET_SECCOMP) != SECCOMP_MODE_FILTER)
                return 0;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
                return -errno;

        return 0;
}

int slice_ask_longer(void) {
        int r, k;

        r = ask();
        k = give_up_the_right();
        return r < 0 ? r : k;
}
