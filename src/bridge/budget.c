/* SPDX-License-Identifier: MIT */

#include "bridge/budget.h"

#define CREDIT_MAX (BUDGET_BURST * USEC_PER_SEC)

Budget budget_full(uint64_t now) {
        return (Budget) { .credit = CREDIT_MAX, .last = now };
}

bool budget_take(Budget *b, uint64_t now, uint64_t reserve) {
        uint64_t passed = now - b->last;

        /* Full after ten seconds at the latest, which also keeps the product small. */
        if (passed >= CREDIT_MAX / BUDGET_PER_SECOND)
                b->credit = CREDIT_MAX;
        else
                b->credit = MIN(b->credit + passed * BUDGET_PER_SECOND, CREDIT_MAX);
        b->last = now;

        if (b->credit < (reserve + 1) * USEC_PER_SEC)
                return false;

        b->credit -= USEC_PER_SEC;
        return true;
}

void budget_give_back(Budget *b) {
        b->credit = MIN(b->credit + USEC_PER_SEC, CREDIT_MAX);
}
