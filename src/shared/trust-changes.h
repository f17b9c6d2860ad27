/* SPDX-License-Identifier: MIT */
#pragma once

/* Two snapshots compared: what a launch changed of what the host trusts. */

#include <stdio.h>

#include "basic/macro.h"
#include "shared/trust-snapshot.h"

#define TRUST_NAME_MAX 196          /* bytes of a name that is shown, before "…" */
#define TRUST_LINES_MAX 40          /* changes that are printed, or one of each kind where that is more */
#define TRUST_ENTRIES_MAX 400       /* the same of journal entries */

typedef enum TrustVerb {
        TRUST_NEW,
        TRUST_CHANGED,
        TRUST_REMOVED,
        TRUST_UNSEEN, /* was not, or not in full, looked at */
        _TRUST_VERB_MAX,
} TrustVerb;

typedef struct TrustChange {
        TrustVerb verb;
        unsigned thing;
        const char *why;
        char *name; /* fit to be shown */
} TrustChange;

typedef struct TrustChanges {
        TrustChange *items; /* those of one kind stand together */
        size_t n, allocated;
} TrustChanges;

/* 0 or -ENOMEM. */
int trust_changes_find(const TrustScope *scope, const TrustSnapshot *before, const TrustSnapshot *after, TrustChanges *ret);
void trust_changes_clear(TrustChanges *c);
#define _cleanup_trust_changes_ _cleanup_(trust_changes_clear)

const char *trust_verb_to_string(TrustVerb verb);

/* A line for each, grouped by who obeys it; nothing without changes. `launch` is where the rest can be found. */
void trust_changes_print(const TrustChanges *c, const char *launch, bool colour, FILE *f);

/* An entry for each. */
void trust_changes_to_journal(const TrustChanges *c, const char *profile, const char *launch);
