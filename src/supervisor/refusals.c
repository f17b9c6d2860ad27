/* SPDX-License-Identifier: MIT */

#include "basic/clock.h"
#include "basic/log.h"
#include "basic/str.h"
#include "supervisor/supervisor.h"

/* Tests, which cannot wait so long, are compiled with another one. */
#ifndef REFUSALS_USEC
#define REFUSALS_USEC (10 * USEC_PER_SEC)
#endif

static Refusals *refusals_of(Supervisor *s, const char *id) {
        for (Connection *c = s->connections; c; c = c->next)
                if (c->holds && streq(c->id, id)) {
                        c->refusals.launch = c->id;
                        return &c->refusals;
                }

        return &s->refusals;
}

void refusals_clear(Refusals *f) {
        if (f->n_untold > 0)
                log_notice("%llu more requests of the bridge of launch %s were refused.", (unsigned long long) f->n_untold,
                                f->launch ?: "(not held)");

        f->n_untold = f->n_told = 0;
        f->timer = sd_event_source_disable_unref(f->timer);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        refusals_clear(userdata);
        return 0;
}

bool refusal_may_be_told(Supervisor *s, const char *id) {
        Refusals *f = refusals_of(s, id);

        if ((f->timer || sd_event_add_time_relative(s->event, &f->timer, CLOCK_MONOTONIC, REFUSALS_USEC, 0, on_timer, f) >= 0) &&
                        f->n_told < REFUSALS_TOLD_MAX) {
                f->n_told++;
                return true;
        }

        f->n_untold++;
        return false;
}
