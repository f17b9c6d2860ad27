/* SPDX-License-Identifier: MIT */
#pragma once

/* Looking at one thing for a snapshot. A guest may be writing all of it meanwhile. */

#include "basic/macro.h"
#include "shared/trust-snapshot.h"

typedef struct TrustLook {
        const TrustScope *scope;
        const TrustSnapshot *before; /* as for trust_snapshot_take() */
        TrustSnapshot *snapshot;
        int *roots;                  /* descriptors, by root */
        size_t n_roots;
        size_t hashed;               /* bytes so far */
        char *buffer;                /* for directories' entries */
} TrustLook;

/* Opens the roots. 0 or negative errno. */
int trust_look_begin(TrustLook *l);
void trust_look_end(TrustLook *l);
#define _cleanup_trust_look_ _cleanup_(trust_look_end)

/* Adds what lies at `path` below a root: nothing, one item, or of a directory one item for each file in it. 0 or negative errno. */
int trust_look_at(TrustLook *l, unsigned root, const char *path, unsigned thing);

/* Opens a directory for reading, or a regular file, through no link. Negative errno: -ENOENT, -ELOOP, -ENOTDIR, -ENOTREG… */
int trust_look_open(const TrustLook *l, unsigned root, const char *path, bool directory);

/* Calls `f` for the entries of a directory, at most TRUST_DIRECTORY_MAX of them; then adds an item that says so. What `f` returns, if
 * negative, ends it. 0 or negative errno. */
typedef int (*TrustLookEntry)(TrustLook *l, int dir_fd, const char *name, void *userdata);
int trust_look_foreach(TrustLook *l, unsigned root, const char *path, size_t *n, TrustLookEntry f, void *userdata);
