/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* What sched_setattr(2) takes, in its first version. <linux/sched/types.h> and glibc's <sched.h> before 2.41
 * cannot both be included. */
typedef struct SchedAttr {
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime; /* ns; of SCHED_OTHER and SCHED_BATCH the length of a turn, since Linux 6.12 */
        uint64_t deadline;
        uint64_t period;
} SchedAttr;

/* Asks the scheduler for longer turns on the processor, for the calling thread.
 *
 * This is about who runs next, not about how much: our share stays what it was. Whoever gets a message from us
 * is woken by it, and on the same processor takes it from us at once where turns are equally long; we then go to
 * sleep a moment later only to be woken by the answer. With a longer turn we find the answer there, and do not
 * sleep at all. And in the middle of a round trip we need not give way to a process that computes all the time.
 * docs/benchmarks.md has the figures.
 *
 * Whoever chose another policy for us knows better. Returns 0 or negative errno: then things are as they were. */
int slice_ask_longer(void);
