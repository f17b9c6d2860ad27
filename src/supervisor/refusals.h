/* SPDX-License-Identifier: MIT */
#pragma once

/* What bridges ask for and do not get, in the log. How often is a guest's choice, where a bridge is in its hands: of each launch a
 * few are told, and how many more there were. */

#include <systemd/sd-event.h>

#include "basic/macro.h"

#define REFUSALS_TOLD_MAX 5 /* in REFUSALS_USEC */

typedef struct Supervisor Supervisor;

/* Of one launch. Zero-initialize. */
typedef struct Refusals {
        const char *launch; /* its id; NULL: of all that are not held */
        unsigned n_told;
        uint64_t n_untold;
        sd_event_source *timer; /* there while they are counted */
} Refusals;

/* Whether one more, of the launch `id`, is to be told; counts it if not. */
bool refusal_may_be_told(Supervisor *s, const char *id);

/* Tells how many were not. */
void refusals_clear(Refusals *f);
