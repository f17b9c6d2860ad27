/* SPDX-License-Identifier: MIT */
#pragma once

/* A token bucket, as pure arithmetic: how much may be written to the journal. */

#include "basic/macro.h"

#define BUDGET_BURST 200
#define BUDGET_PER_SECOND 20

typedef struct Budget {
        uint64_t credit; /* in units of 1/USEC_PER_SEC */
        uint64_t last;   /* when it was last filled up */
} Budget;

Budget budget_full(uint64_t now);

/* Takes one out, if `reserve` of them stay. `now` in microseconds never goes back. */
bool budget_take(Budget *b, uint64_t now, uint64_t reserve);

/* Puts one back. */
void budget_give_back(Budget *b);
