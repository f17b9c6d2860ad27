/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/parse.h"
#include "basic/str.h"
#include "shared/limits.h"

#define PERMYRIAD_ALL 10000
#define QUOTA_MAX (1000000 * (uint64_t) 100) /* ten thousand CPUs */
#define WEIGHT_MAX 10000
#define WEIGHT_IDLE 0

typedef enum LimitKind {
        KIND_MEMORY,         /* more than nothing */
        KIND_MEMORY_OR_NONE,
        KIND_TASKS,
        KIND_QUOTA,
        KIND_WEIGHT,
        KIND_WEIGHT_OR_IDLE,
} LimitKind;

static const struct {
        const char *name, *controller;
        LimitKind kind;
} table[] = {
        [LIMIT_CPU_QUOTA] = { "CPUQuota", "cpu", KIND_QUOTA },
        [LIMIT_CPU_WEIGHT] = { "CPUWeight", "cpu", KIND_WEIGHT_OR_IDLE },
        [LIMIT_IO_WEIGHT] = { "IOWeight", "io", KIND_WEIGHT },
        [LIMIT_MEMORY_HIGH] = { "MemoryHigh", "memory", KIND_MEMORY },
        [LIMIT_MEMORY_LOW] = { "MemoryLow", "memory", KIND_MEMORY_OR_NONE },
        [LIMIT_MEMORY_MAX] = { "MemoryMax", "memory", KIND_MEMORY },
        [LIMIT_MEMORY_MIN] = { "MemoryMin", "memory", KIND_MEMORY_OR_NONE },
        [LIMIT_MEMORY_SWAP_MAX] = { "MemorySwapMax", "memory", KIND_MEMORY_OR_NONE },
        [LIMIT_TASKS_MAX] = { "TasksMax", "pids", KIND_TASKS },
};
static_assert(ELEMENTSOF(table) == _LIMIT_MAX, "a row for each limit");

static const char *const expectations[] = {
        [KIND_MEMORY] = EXPECT_MEMORY,
        [KIND_MEMORY_OR_NONE] = EXPECT_MEMORY,
        [KIND_TASKS] = EXPECT_TASKS,
        [KIND_QUOTA] = EXPECT_QUOTA,
        [KIND_WEIGHT] = EXPECT_WEIGHT,
        [KIND_WEIGHT_OR_IDLE] = EXPECT_CPU_WEIGHT,
};

const char *limit_name(LimitId id) {
        return table[id].name;
}

const char *limit_controller(LimitId id) {
        return table[id].controller;
}

const char *limit_expectation(LimitId id) {
        return expectations[table[id].kind];
}

int limit_from_name(const char *name, size_t n) {
        for (LimitId id = 0; id < _LIMIT_MAX; id++)
                if (strlen(table[id].name) == n && memcmp(table[id].name, name, n) == 0)
                        return (int) id;

        return -EINVAL;
}

/* More than nothing, at most `max`. */
static int parse_part(const char *text, uint64_t max, Limit *limit) {
        limit->relative = true;
        if (parse_permyriad(text, &limit->value) < 0 || limit->value == 0 || limit->value > max)
                return -EINVAL;

        return 0;
}

static int parse_amount(const char *text, uint64_t min, int (*parse)(const char *text, uint64_t *ret), Limit *limit) {
        if (streq(text, "infinity")) {
                limit->value = LIMIT_INFINITY;
                return 0;
        }
        if (str_has_suffix(text, "%"))
                return parse_part(text, PERMYRIAD_ALL, limit);
        if (parse(text, &limit->value) < 0 || limit->value < min || limit->value == LIMIT_INFINITY)
                return -EINVAL;

        return 0;
}

static int parse_bytes(const char *text, uint64_t *ret) {
        return parse_size(text, 1, ret);
}

static int parse_count(const char *text, uint64_t *ret) {
        return parse_uint(text, 0, UINT64_MAX, ret);
}

static int parse_value(LimitKind kind, const char *text, Limit *limit) {
        switch (kind) {
        case KIND_MEMORY:
                return parse_amount(text, 1, parse_bytes, limit);
        case KIND_MEMORY_OR_NONE:
                return parse_amount(text, 0, parse_bytes, limit);
        case KIND_TASKS:
                return parse_amount(text, 1, parse_count, limit);
        case KIND_QUOTA:
                return parse_part(text, QUOTA_MAX, limit);
        case KIND_WEIGHT_OR_IDLE:
                if (streq(text, "idle")) {
                        limit->value = WEIGHT_IDLE;
                        return 0;
                }
                return parse_uint(text, 1, WEIGHT_MAX, &limit->value);
        case KIND_WEIGHT:
                return parse_uint(text, 1, WEIGHT_MAX, &limit->value);
        }

        return -EINVAL;
}

int limit_parse(LimitId id, const char *text, Limit *ret) {
        Limit limit = { .set = true };

        if (*text == '\0')
                limit.value = LIMIT_INFINITY;
        else if (parse_value(table[id].kind, text, &limit) < 0)
                return -EINVAL;

        *ret = limit;
        return 0;
}

/* With the largest suffix that leaves no fraction. */
static void format_bytes(uint64_t bytes, char *buf) {
        static const char suffixes[] = { '\0', 'K', 'M', 'G', 'T', 'P', 'E' };
        size_t i = 0;

        while (bytes > 0 && bytes % KIB == 0 && i + 1 < ELEMENTSOF(suffixes)) {
                bytes /= KIB;
                i++;
        }

        (void) snprintf(buf, LIMIT_TEXT_MAX, "%llu%.1s", (unsigned long long) bytes, &suffixes[i]);
}

const char *limit_format(LimitId id, const Limit *limit, char buf[static LIMIT_TEXT_MAX]) {
        const LimitKind kind = table[id].kind;
        const unsigned long long value = limit->value;

        if (limit->value == LIMIT_INFINITY)
                (void) strcpy(buf, kind == KIND_MEMORY || kind == KIND_MEMORY_OR_NONE || kind == KIND_TASKS ? "infinity" : "");
        else if (limit->relative && value % 100 == 0)
                (void) snprintf(buf, LIMIT_TEXT_MAX, "%llu%%", value / 100);
        else if (limit->relative)
                (void) snprintf(buf, LIMIT_TEXT_MAX, "%llu.%02llu%%", value / 100, value % 100);
        else if (kind == KIND_WEIGHT_OR_IDLE && limit->value == WEIGHT_IDLE)
                (void) strcpy(buf, "idle");
        else if (kind == KIND_MEMORY || kind == KIND_MEMORY_OR_NONE)
                format_bytes(limit->value, buf);
        else
                (void) snprintf(buf, LIMIT_TEXT_MAX, "%llu", value);

        return buf;
}

bool limits_are_none(const Limits *limits) {
        for (LimitId id = 0; id < _LIMIT_MAX; id++)
                if (limits->items[id].set)
                        return false;

        return true;
}

void limits_override(Limits *limits, const Limits *over) {
        for (LimitId id = 0; id < _LIMIT_MAX; id++)
                if (over->items[id].set)
                        limits->items[id] = over->items[id];
}
