/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's own certificate authorities: those its administrator added, for a proxy that re-signs TLS, say. */

#include "basic/macro.h"

/* Where a distribution keeps them, and what its tools make of all authorities. */
typedef struct TrustLayout {
        const char *anchors;   /* the directory of those that were added */
        const char *suffix;    /* what a file's name there must end in to count; NULL: any */
        const char *extracted; /* the directory that programs read */
        const char *bundle;    /* a file below it: all authorities, as PEM */
} TrustLayout;

/* Debian's and Fedora's. */
#define TRUST_LAYOUTS 2
extern const TrustLayout trust_layouts[TRUST_LAYOUTS];

/* Whether there is a file that counts below `dir`. */
bool anchors_exist(const char *dir, const char *suffix);

/* Appends to `fd` every PEM certificate file below `dir`, in the order of their names. Files in another form are passed over;
 * `*ret_skipped`, a vector of their paths, is the caller's. Returns how many files were written (0 also when there is no such
 * directory), or negative errno. */
int anchors_append(const char *dir, const char *suffix, int fd, char ***ret_skipped);

/* The same for all layouts. */
int anchors_append_host(int fd, char ***ret_skipped);
