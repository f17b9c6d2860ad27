/* SPDX-License-Identifier: MIT */

#include "bridge/budget.h"

#define CREDIT_MAX (BUDGET_BURST * USEC_PER_SEC)

Budget budget_full(uint64_t now) {
        return (Budget) { .credit = CREDIT_MAX, .last = now };
}

bool budget_take(Budget *b, uint64_t now, uint64_t reserve) {
        uint64_t passed = now - b->last, max = CREDIT_MAX - b->n_lent * USEC_PER_SEC;

        /* Full after ten seconds at the latest, which also keeps the product small. */
        if (passed >= CREDIT_MAX / BUDGET_PER_SECOND)
                b->credit = max;
        else
                b->credit = MIN(b->credit + passed * BUDGET_PER_SECOND, max);
        b->last = now;

        if (b->credit < (reserve + 1) * USEC_PER_SEC)
                return false;

        b->credit -= USEC_PER_SEC;
        return true;
}

bool budget_lend(Budget *b, uint64_t now, uint64_t reserve) {
        bool lent = budget_take(b, now, reserve);

        b->n_lent += lent;
        return lent;
}

void budget_spend(Budget *b) {
        assert(b->n_lent > 0);
        b->n_lent--;
}

void budget_give_back(Budget *b) {
        budget_spend(b);
        b->credit += USEC_PER_SEC;
}
