/* SPDX-License-Identifier: MIT */
#pragma once

/* Resource limits, in the words of systemd.resource-control(5): of a launch's scope, and of a profile's slice. Pure. */

#include "basic/macro.h"

typedef enum LimitId {
        LIMIT_CPU_QUOTA,
        LIMIT_CPU_WEIGHT,
        LIMIT_IO_WEIGHT,
        LIMIT_MEMORY_HIGH,
        LIMIT_MEMORY_LOW,
        LIMIT_MEMORY_MAX,
        LIMIT_MEMORY_MIN,
        LIMIT_MEMORY_SWAP_MAX,
        LIMIT_TASKS_MAX,
        _LIMIT_MAX,
} LimitId;

#define LIMIT_INFINITY UINT64_MAX /* no limit; of a weight: not set */

typedef struct Limit {
        bool set;
        bool relative;  /* `value` is parts of ten thousand: of what the machine has, or of one CPU's time */
        uint64_t value; /* bytes, tasks, or a weight, 0 being "idle" */
} Limit;

typedef struct Limits {
        Limit items[_LIMIT_MAX];
} Limits;

/* "MemoryMax" */
const char *limit_name(LimitId id);

/* The property whose name the first `n` bytes are, to the letter, or -EINVAL. */
int limit_from_name(const char *name, size_t n);

/* What the kernel calls the controller that enforces it: "memory". */
const char *limit_controller(LimitId id);

/* Parses a value as systemd does; an empty one takes the limit away. Returns 0 or -EINVAL. */
int limit_parse(LimitId id, const char *text, Limit *ret);

/* What a value must be, behind "expected". */
const char *limit_expectation(LimitId id);
#define EXPECT_MEMORY "a size such as 512M or 8G, a percentage, or infinity"
#define EXPECT_QUOTA "a percentage of one CPU, such as 150%"
#define EXPECT_CPU_WEIGHT "a number from 1 to 10000, or idle"
#define EXPECT_WEIGHT "a number from 1 to 10000"
#define EXPECT_TASKS "a number from 1 on, a percentage, or infinity"

/* The value as limit_parse() and systemd read it, into `buf`, which is returned. */
#define LIMIT_TEXT_MAX 24
const char *limit_format(LimitId id, const Limit *limit, char buf[static LIMIT_TEXT_MAX]);

bool limits_are_none(const Limits *limits);

/* Those of `over` take the place of those in `limits`. */
void limits_override(Limits *limits, const Limits *over);
