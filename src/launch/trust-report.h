/* SPDX-License-Identifier: MIT */
#pragma once

/* What a session changed of what the host will run or obey, told to whoever launched it. */

#include "launch/plan.h"

/* Remembers the state before the guest starts: after everything that the launch itself puts into profile and work tree. 0 or negative
 * errno, having said what is wrong; then the guest must not start. */
int trust_report_begin(const Plan *p, int dir_fd);

/* Compares, and prints to standard error. After the guest has ended, and before the launch directory goes. */
void trust_report_end(const Plan *p, int dir_fd);

/* Shows what nobody was told at the end of the profile's earlier sessions. */
void trust_report_left(const LaunchRequest *request);
