/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"

static struct {
        const char *program;
        bool to_journal;
        bool always_name;
        bool debug;
} log_state = { .program = "claude-profile" };

/* syslog priorities, for the "<N>" prefix */
static const int priorities[] = {
        [LOG_LEVEL_ERROR] = 3,
        [LOG_LEVEL_WARNING] = 4,
        [LOG_LEVEL_NOTICE] = 5,
        [LOG_LEVEL_DEBUG] = 7,
};

static const char *const prefixes[] = {
        [LOG_LEVEL_ERROR] = "",
        [LOG_LEVEL_WARNING] = "warning: ",
        [LOG_LEVEL_NOTICE] = "",
        [LOG_LEVEL_DEBUG] = "debug: ",
};

void log_setup(const char *program) {
        const char *debug = getenv("CLAUDE_PROFILE_DEBUG");

        log_state.program = program;
        log_state.debug = debug && streq(debug, "1");
        log_state.to_journal = getenv("JOURNAL_STREAM") && !getenv("TERM");
}

void log_always_name(void) {
        log_state.always_name = true;
}

int log_full(LogLevel level, int error, const char *format, ...) {
        char text[4096], line[4096 + 128];
        bool with_error;
        va_list ap;
        int n;

        if (level == LOG_LEVEL_DEBUG && !log_state.debug)
                return error;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);

        with_error = error < 0 && !str_has_suffix(format, ".");
        if (log_state.to_journal)
                n = snprintf(line, sizeof(line), "<%d>%s%s%s", priorities[level], log_state.always_name ? log_state.program : "",
                                log_state.always_name ? ": " : "", text);
        else
                n = snprintf(line, sizeof(line), "%s: %s%s", log_state.program, prefixes[level], text);
        if (with_error && n < (int) sizeof(line))
                n += snprintf(line + n, sizeof(line) - (size_t) n, ": %s", strerror(-error));

        n = MIN(n, (int) sizeof(line) - 2);
        line[n++] = '\n';

        /* A journal that does not read must not hold up who keeps guards or connections. */
        if (log_state.to_journal && (send(2, line, (size_t) n, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ENOTSOCK))
                return error;

        /* One write, so that lines of several processes do not mix. */
        (void) io_write_all(2, line, (size_t) n);
        return error;
}
