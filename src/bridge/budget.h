/* SPDX-License-Identifier: MIT */
#pragma once

/* A token bucket, as pure arithmetic: how much may be written to the journal. */

#include "basic/macro.h"

#define BUDGET_BURST 200 /* entries */
#define BUDGET_PER_SECOND 20

/* Who may take how much: ends of a kind that has not been told for as long as a summary takes, all of it;
 * signatures, which wait for room instead of going untold, all but the first; what there are floods of, what is
 * left. So neither a flood nor signatures hide that something else has begun. */
#define BUDGET_KINDS_RESERVE 10      /* entries */
#define BUDGET_SIGNATURES_RESERVE 50 /* entries */

typedef struct Budget {
        uint64_t credit; /* in units of 1/USEC_PER_SEC */
        uint64_t last;   /* when it was last filled up */
        uint64_t n_lent; /* entries that are still to be written, or not; they count as if they were in it */
} Budget;

Budget budget_full(uint64_t now);

/* Takes one out, if `reserve` of them stay. `now` in microseconds never goes back. */
bool budget_take(Budget *b, uint64_t now, uint64_t reserve);

/* The same for an entry that will be written later, if at all: no other comes in for it meanwhile. */
bool budget_lend(Budget *b, uint64_t now, uint64_t reserve);

/* It has been written, or will not be: then it is put back. */
void budget_spend(Budget *b);
void budget_give_back(Budget *b);
