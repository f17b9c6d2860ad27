/* SPDX-License-Identifier: MIT */
#pragma once

/* Messages for people, on standard error: "<program>: <text>". Libraries return errors and log at most at debug level;
 * the place that gives up logs once. Foreign text goes through str_escape() first. */

#include <string.h>

#include "basic/macro.h"

typedef enum LogLevel {
        LOG_LEVEL_ERROR,
        LOG_LEVEL_WARNING,
        LOG_LEVEL_NOTICE,
        LOG_LEVEL_DEBUG,
} LogLevel;

/* The name that starts each line; kept, not copied. Under a service manager (JOURNAL_STREAM set) each line gets the
 * "<N>" priority prefix of sd-daemon(3) instead. Debug output appears when CLAUDE_PROFILE_DEBUG=1. */
void log_setup(const char *program);

/* For a program whose standard error is its starter's, so that the journal takes its lines for that one's: they say the name there, too. */
void log_always_name(void);

/* Returns `error` (a negative errno, or 0), so that `return log_error(r, …)` reads well. When `error` is negative and the
 * format does not end in a full stop, ": <strerror>" follows the text. */
int log_full(LogLevel level, int error, const char *format, ...) _printf_(3, 4);

#define log_error(error, ...) log_full(LOG_LEVEL_ERROR, (error), __VA_ARGS__)
#define log_warning(...) ((void) log_full(LOG_LEVEL_WARNING, 0, __VA_ARGS__))
#define log_notice(...) ((void) log_full(LOG_LEVEL_NOTICE, 0, __VA_ARGS__))
#define log_debug(...) ((void) log_full(LOG_LEVEL_DEBUG, 0, __VA_ARGS__))
#define log_oom() log_full(LOG_LEVEL_ERROR, -ENOMEM, "Out of memory.")
