/* SPDX-License-Identifier: MIT */
#pragma once

/* The supervisor's journal entries, one for the beginning of a launch and one for its end. */

#include "supervisor/supervisor.h"

void event_launch_started(const Connection *c);
void event_launch_ended(const Connection *c);
