/* SPDX-License-Identifier: MIT */
#pragma once

/* A launch's report from beginning to end: the state before is kept in its launch directory, the comparison comes when it has
 * ended, made by the launcher, or by the supervisor when that was killed.
 *
 * That a report is still to come, or to be read, stands in <data>/profiles/<profile>/unreported/, where no guest can reach it and
 * where it outlives the runtime directory:
 *
 *   <id>.open    the launch has begun; its directory is the content. One without a launch directory never got a report: the
 *                machine went down
 *   <id>.report  what nobody has seen yet, for the next launch to show */

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/tree-scan.h"
#include "shared/trust-changes.h"
#include "shared/trust-scope.h"

typedef struct TrustSession {
        const Dirs *dirs;
        const char *profile; /* its name */
        const char *id;
        int dir_fd;          /* of the launch directory */
} TrustSession;

/* Takes the snapshot and marks the launch as one whose report is to come. `tree` as for trust_snapshot_take(). 0 or negative errno:
 * then the guest must not be started. */
int trust_session_begin(const TrustSession *s, const TrustScope *scope, const TreeScan *tree);

/* Compares with what trust_session_begin() left, and tells the journal. -ENOENT: it was never called. 0 or negative errno. */
int trust_session_compare(const TrustSession *s, TrustChanges *ret);

/* Leaves a report for the next launch to show; `error` (negative errno, or 0) is what kept trust_session_compare() from it. 0 or
 * negative errno. */
int trust_session_keep(const TrustSession *s, int error, const TrustChanges *c);

/* The report was seen, or left, or there was nothing to see. Before the launch directory goes. */
void trust_session_end(const TrustSession *s);

/* All that for a launcher that died: what is found is left for the next launch, a failure too. 0 or negative errno. */
int trust_session_leave(const TrustSession *s);

/* Prints what is left of the profile's earlier sessions, and removes it. */
void trust_session_show_left(const Dirs *dirs, const char *profile, bool colour, FILE *f);
