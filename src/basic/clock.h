/* SPDX-License-Identifier: MIT */
#pragma once

#include <time.h>

#include "basic/macro.h"

/* CLOCK_MONOTONIC in microseconds. */
static inline uint64_t now_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (uint64_t) ts.tv_sec * USEC_PER_SEC + (uint64_t) ts.tv_nsec / 1000;
}
