/* SPDX-License-Identifier: MIT */
#pragma once

/* A microVM has a kernel of its own, which kills processes when the memory that the machine was given is used up. The host
 * sees nothing of that; so the entry point tells it. */

#include "basic/macro.h"

/* How many processes a kernel has killed for want of memory, from the text of its /proc/vmstat. 0, or -ENODATA when it
 * does not count them. */
int memory_parse_kills(const char *vmstat, uint64_t *ret);

/* Counts; 0 where the kernel is the host's, too, whose count is about others. */
uint64_t memory_kills(void);

/* Says, if there have been more since, that this machine's memory is too small. */
void memory_tell(uint64_t kills_before);
