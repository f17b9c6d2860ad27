/* SPDX-License-Identifier: MIT */
#pragma once

/* Tells the user that the kernel has killed something in the sandbox for want of memory, and whose limit that was. Processes of a sandbox
 * are killed when its scope, or any control group above that, is full; each group counts how often that happened to itself
 * (memory.events.local), and the scope how many of its processes died of it (memory.events). */

#include "basic/macro.h"

#define MEMORY_LEVELS_MAX 16

typedef struct MemoryWatch {
        char *cgroup; /* of the scope, as /proc/self/cgroup has it; NULL: nothing is watched */
        uint64_t full[MEMORY_LEVELS_MAX]; /* how often it had happened before, from the scope upwards */
} MemoryWatch;

/* `root` is where the control groups are ("/sys/fs/cgroup"). Without a memory controller there is nothing to read, and nothing to tell.
 * 0 or -ENOMEM. */
int memory_watch_begin(MemoryWatch *w, const char *root, const char *cgroup);

/* What happened since, as a sentence; NULL in `*ret` when nothing did. The caller frees. `profile` is its name. 0 or -ENOMEM. */
int memory_watch_describe(const MemoryWatch *w, const char *root, const char *profile, char **ret);

void memory_watch_clear(MemoryWatch *w);
#define _cleanup_memory_watch_ _cleanup_(memory_watch_clear)
