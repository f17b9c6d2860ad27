/* SPDX-License-Identifier: MIT */
#pragma once

/* Host-trusted things: what a guest can write and something on the host will run or obey. One table; the mounts that guard a
 * launch, the report after it, `run --dry-run` and the table in docs/threat-model.md are all made from it. */

#include "basic/macro.h"

typedef enum TrustPlace {
        TRUST_PROFILE, /* below the profile */
        TRUST_GIT,     /* below every git directory at or below the work root, and below the common directory */
        TRUST_WORK,    /* below the work root, and below the directory that the launch starts in */
        TRUST_TREE,    /* below any directory at or below the work root */
        _TRUST_PLACE_MAX,
} TrustPlace;

typedef enum TrustTreatment {
        TRUST_READ_ONLY, /* bound over itself: the guest cannot change it */
        TRUST_COPY,      /* a copy of the launch's own lies over it: the guest's changes are thrown away */
        TRUST_EMPTY,     /* an empty directory of the launch's own lies over it, likewise */
        TRUST_REPORT,    /* the guest may change it, and it is told when the launch has ended */
        _TRUST_TREATMENT_MAX,
} TrustTreatment;

/* A symbolic link of that name. crun would follow it inside the container, and mount the guard wherever the guest pointed it. */
typedef enum TrustLink {
        TRUST_LINK_REFUSED,  /* the launch stops and names it */
        TRUST_LINK_REPLACED, /* something of the launcher's takes its place, on the host, and a warning names its target */
        TRUST_LINK_LEFT,     /* nothing is mounted there; links of the profile are another part's business (plan-links.c) */
} TrustLink;

typedef struct TrustedThing {
        TrustPlace place;
        const char *name; /* relative to the place; "worktrees/…" stands for each other worktree's directory */
        TrustTreatment treatment;
        bool directory;
        TrustLink link;
        const char *created; /* what a launch puts there when it is missing; NULL: nothing, a guest's creation is reported */
        const char *why;     /* who on the host obeys it, a few words */
} TrustedThing;

extern const TrustedThing trusted_things[];
extern const size_t n_trusted_things;

const char *trust_place_to_string(TrustPlace place);
const char *trust_treatment_to_string(TrustTreatment treatment);

/* Whether `name`, in some directory of the work tree, is or leads to a TRUST_TREE thing, by its first component. */
bool trust_tree_name(const char *name);
