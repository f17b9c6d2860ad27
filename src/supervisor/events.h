/* SPDX-License-Identifier: MIT */
#pragma once

/* The supervisor's journal entries: the beginning of a launch and its end, a page in the host's browser, and what became of
 * guards. */

#include "supervisor/supervisor.h"

void event_launch_started(const Connection *c);
void event_launch_ended(const Connection *c);
typedef struct GuardLifted {
        const char *path; /* of the guarded entry */
        uint64_t off_usec;
        bool same_content, gone;
} GuardLifted;

void event_guard_lifted(const Supervisor *s, const char *id, const GuardLifted *e);
void event_launch_cut(const Supervisor *s, const char *id, const char *why);
void event_page_opened(const Supervisor *s, const char *id, const char *url);
