/* SPDX-License-Identifier: MIT */
#pragma once

/* Where a launch's host-trusted things lie. The launcher fills it from its plan, and leaves it in the launch directory
 * (trust-scope.json), so that the supervisor can compare when the launcher cannot any more. */

#include "basic/macro.h"

typedef struct TrustScope {
        char *profile;       /* the profile's directory */
        char *work_root;     /* absolute, no link in it */
        char *directory;     /* where the launch starts: the work root or below it */
        char **git_dirs;     /* the git directories that are known, absolute: below the work root, or mounted beside it */
        char **trusted_paths;    /* what git's configuration names, likewise */
        char **report_paths; /* ReportPaths=, as given: relative ones mean the work root */
} TrustScope;

void trust_scope_clear(TrustScope *s);
#define _cleanup_trust_scope_ _cleanup_(trust_scope_clear)

/* trust-scope.json in a launch directory. 0 or negative errno; reading checks every field (-EBADMSG). */
int trust_scope_write(int dir_fd, const TrustScope *s);
int trust_scope_read(int dir_fd, TrustScope *ret);

/* What paths of things are relative to. */
typedef enum TrustRoot {
        TRUST_ROOT_PROFILE,
        TRUST_ROOT_WORK,
        TRUST_ROOT_OUTSIDE, /* and above: git_dirs[root - TRUST_ROOT_OUTSIDE], which lies beside the work root */
} TrustRoot;

/* By which root, and which path below it ("" is the root itself; it points into `path`), a guest can reach the absolute `path`.
 * false: by none. */
bool trust_scope_locate(const TrustScope *s, const char *path, unsigned *ret_root, const char **ret_below);

/* The directory of a root; NULL: there is no such root. */
const char *trust_scope_root(const TrustScope *s, unsigned root);
