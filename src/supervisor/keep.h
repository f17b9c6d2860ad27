/* SPDX-License-Identifier: MIT */
#pragma once

/* Keeping guards in place, as a child of the supervisor: everything that touches the user's files or may take a moment. What it finds is
 * written to standard output for watch.c, what came of guards that had fallen off is appended to the launch directory's file `lifted`:
 *
 *   {"path":"<the guarded entry>","off_usec":<how long the guard was off>,"same_content":<bool>,"gone":<bool>}
 *
 * off_usec is a little too large rather than too small; same_content is false when that is not known, as of directories; gone says that
 * the entry has been removed on the host, so that there is nothing to guard before it comes back. */

#include "supervisor/fresh-entry.h"
#include "supervisor/guard-mount.h"
#include "supervisor/supervisor.h"

/* The descriptors that it is given. */
typedef enum KeepFd {
        KEEP_FD_INOTIFY = 3,
        KEEP_FD_GUEST, /* the guest's control group */
        KEEP_FD_CONTAINER, /* a pidfd */
        KEEP_FD_LAUNCH, /* the launch directory */
} KeepFd;
#define KEEP_FDS 4

/* What is known of a guard from one run to the next. */
typedef struct KeepRecord {
        GuardState state;
        FreshContent content; /* of the entry, when it was last looked at */
        bool anew;            /* put back at least once */
        int wd;               /* the watch that tells of it, or -1 */
        size_t name, name_n;  /* and by which name there: a piece of the guard's path */
} KeepRecord;

#define KEEP_WHY_MAX 512

typedef struct KeepResult {
        bool done;
        bool replaced;          /* an entry got a new inode, which lifts what other launches have there */
        uint64_t frozen_usec;   /* CLOCK_REALTIME: since then the guest has stood still; 0: it does not */
        char why[KEEP_WHY_MAX]; /* when the launch has to end: a sentence without its full stop */
} KeepResult; /* followed by the records */

typedef struct KeepTask {
        const char *launch;         /* its id */
        const GuardList *guards;
        const KeepRecord *records;
        bool first;                 /* nothing is known yet */
        bool frozen;                /* the guest is already being frozen */
        uint64_t frozen_usec;       /* and stood still before */
        uint64_t since_usec;        /* CLOCK_REALTIME: when it was noticed that something happened */
} KeepTask;

int keep_run(const Supervisor *s, const void *argument);
