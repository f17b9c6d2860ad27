/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/clock.h"
#include "bridge/leave.h"

#define TICK_USEC (USEC_PER_SEC / BUDGET_PER_SECOND) /* in which there comes room for one */
#define WAIT_USEC (10 * USEC_PER_SEC)

struct Leave {
        Budget *budget;
        sd_event_source *timer; /* armed while somebody waits */
        LeaveWaiter *first, *last;
};

void leave_forget(Leave *l, LeaveWaiter *w) {
        if (!w->waits)
                return;

        w->waits = false;
        *(w->previous ? &w->previous->next : &l->first) = w->next;
        *(w->next ? &w->next->previous : &l->last) = w->previous;
}

static void arm(Leave *l) {
        int enabled;

        if (!l->first || sd_event_source_get_enabled(l->timer, &enabled) < 0 || enabled != SD_EVENT_OFF)
                return;

        (void) sd_event_source_set_time_relative(l->timer, TICK_USEC);
        (void) sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        uint64_t now = now_usec();
        Leave *l = userdata;

        /* The first has waited for longest. */
        while (l->first) {
                bool granted = budget_lend(l->budget, now, BUDGET_KINDS_RESERVE);
                LeaveWaiter *w = l->first;

                if (!granted && now < w->since + WAIT_USEC)
                        break;

                leave_forget(l, w);
                w->done(w->userdata, granted);
        }

        arm(l);
        return 0;
}

bool leave_take(Leave *l, LeaveWaiter *w) {
        uint64_t now = now_usec();

        if (!l->first && budget_lend(l->budget, now, BUDGET_KINDS_RESERVE))
                return true;

        w->waits = true;
        w->since = now;
        w->previous = l->last;
        w->next = NULL;
        *(l->last ? &l->last->next : &l->first) = w;
        l->last = w;
        arm(l);
        return false;
}

void leave_use(Leave *l) {
        budget_spend(l->budget);
}

void leave_give_back(Leave *l) {
        budget_give_back(l->budget);
}

int leave_new(sd_event *event, Budget *budget, Leave **ret) {
        Leave *l;
        int r;

        l = new0(Leave, 1);
        if (!l)
                return -ENOMEM;

        l->budget = budget;
        r = sd_event_add_time(event, &l->timer, CLOCK_MONOTONIC, UINT64_MAX, 1, on_tick, l);
        if (r >= 0)
                r = sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
        if (r < 0) {
                (void) leave_free(l);
                return r;
        }

        *ret = l;
        return 0;
}

Leave *leave_free(Leave *l) {
        if (!l)
                return NULL;

        assert(!l->first);
        sd_event_source_disable_unref(l->timer);
        free(l);
        return NULL;
}
