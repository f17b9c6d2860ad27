/* SPDX-License-Identifier: MIT */
#pragma once

/* Leave to sign. Every signature is an entry in the journal, so none is made that the journal's budget has no
 * room for: a request that comes when it is used up waits, in the order of coming, and is refused when that
 * takes too long. What is given is one entry, for whoever has it. */

#include <systemd/sd-event.h>

#include "bridge/budget.h"

typedef struct Leave Leave;

/* One that may wait; lies where its user wants it to. */
typedef struct LeaveWaiter {
        /* Called once, from the event loop. It may free the waiter. */
        void (*done)(void *userdata, bool granted);
        void *userdata;
        bool waits;
        uint64_t since;
        struct LeaveWaiter *previous, *next;
} LeaveWaiter;

/* `budget` must outlive it. Returns 0 or negative errno. */
int leave_new(sd_event *event, Budget *budget, Leave **ret);

/* Nobody may wait any more. */
Leave *leave_free(Leave *l);

/* Returns whether it is given at once. If not, `done` will be called. */
bool leave_take(Leave *l, LeaveWaiter *w);

/* What was given is used, and its entry comes now; until then none comes in for it, so that it cannot be saved
 * up while an agent lets many wait. */
void leave_use(Leave *l);

/* It was not used. */
void leave_give_back(Leave *l);

/* It is of no interest any more; nothing if it does not wait. */
void leave_forget(Leave *l, LeaveWaiter *w);
