/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "shared/journal.h"

/* https://systemd.io/JOURNAL_NATIVE_PROTOCOL: a datagram of "NAME=value" lines. */
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

static int append(FILE *f, const char *name, const char *value, size_t max) {
        _cleanup_free_ char *safe = NULL;

        if (!value)
                return 0;

        safe = str_escape_n(value, strlen(value), max);
        if (!safe || fprintf(f, "%s=%s\n", name, safe) < 0)
                return -ENOMEM;

        return 0;
}

int journal_format(const JournalEntry *e, char **ret, size_t *ret_n) {
        _cleanup_free_ char *text = NULL;
        char priority[] = { (char) ('0' + (e->priority & LOG_PRIMASK)), '\0' };
        size_t size = 0;
        FILE *f;
        int r;

        f = open_memstream(&text, &size);
        if (!f)
                return -ENOMEM;

        r = append(f, "MESSAGE", e->message, JOURNAL_TEXT_MAX);
        if (r >= 0)
                r = append(f, "MESSAGE_ID", e->message_id, JOURNAL_TEXT_MAX);
        if (r >= 0)
                r = append(f, "PRIORITY", priority, JOURNAL_TEXT_MAX);
        if (r >= 0)
                r = append(f, "SYSLOG_IDENTIFIER", program_invocation_short_name, JOURNAL_TEXT_MAX);
        if (r >= 0)
                r = append(f, "CLAUDE_PROFILE", e->profile, JOURNAL_TEXT_MAX);
        if (r >= 0)
                r = append(f, "CLAUDE_LAUNCH", e->launch, JOURNAL_TEXT_MAX);
        for (size_t i = 0; i < e->n_fields && r >= 0; i++)
                r = append(f, e->fields[i].name, e->fields[i].value,
                                e->fields[i].foreign ? JOURNAL_FOREIGN_TEXT_MAX : JOURNAL_TEXT_MAX);

        if (fclose(f) != 0 && r >= 0)
                r = -ENOMEM;
        if (r < 0)
                return r;

        *ret = TAKE_PTR(text);
        *ret_n = size;
        return 0;
}

static uint64_t wait_until;

void journal_wait_until(uint64_t usec) {
        wait_until = usec;
}

/* Returns the flag for sendto(2). */
static int set_patience(int fd) {
        uint64_t now = now_usec();
        struct timeval left;

        if (now >= wait_until)
                return MSG_DONTWAIT;

        left = (struct timeval) { .tv_sec = (time_t) ((wait_until - now) / USEC_PER_SEC),
                .tv_usec = (suseconds_t) ((wait_until - now) % USEC_PER_SEC) };
        return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &left, sizeof(left)) < 0 ? MSG_DONTWAIT : 0;
}

int journal_send(const JournalEntry *e) {
        static const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = JOURNAL_SOCKET };
        static int fd = -EBADF; /* kept: a process's only one */
        static pid_t owner;
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        /* A child may have closed what it inherited, and given the number to something else. */
        if (fd < 0 || owner != getpid()) {
                fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
                if (fd < 0)
                        return -errno;
                owner = getpid();
        }

        r = journal_format(e, &text, &n);
        if (r < 0)
                return r;

        /* Not connected: the journal may have been restarted in between. */
        if (sendto(fd, text, n, MSG_NOSIGNAL | set_patience(fd), (const struct sockaddr *) &address, sizeof(address)) < 0)
                return -errno;

        return 0;
}
