/* SPDX-License-Identifier: MIT */
#pragma once

/* The supervisor's journal entries: the beginning of a launch and its end, and a page in the host's browser. */

#include "supervisor/supervisor.h"

void event_launch_started(const Connection *c);
void event_launch_ended(const Connection *c);
void event_page_opened(const Supervisor *s, const char *id, const char *url);
