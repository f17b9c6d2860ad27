/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "shared/journal.h"
#include "supervisor/events.h"

#define FIELD_MAX 32

void event_launch_started(const Connection *c) {
        char message[128], pid[FIELD_MAX];

        (void) snprintf(message, sizeof(message), "Launch %s started.", c->id);
        (void) snprintf(pid, sizeof(pid), "%d", (int) c->pid);

        (void) journal_send(&(JournalEntry) {
                        .priority = LOG_INFO,
                        .message_id = MESSAGE_LAUNCH_STARTED,
                        .message = message,
                        .profile = c->supervisor->profile,
                        .launch = c->id,
                        .fields = (const JournalField[]) {
                                { .name = "LAUNCH_DIRECTORY", .value = c->directory },
                                { .name = "LAUNCH_PID", .value = pid },
                        },
                        .n_fields = 2 });
}

void event_launch_ended(const Connection *c) {
        char message[128], status[FIELD_MAX], duration[FIELD_MAX];
        uint64_t usec = now_usec() - c->since_usec;

        if (c->done)
                (void) snprintf(message, sizeof(message), "Launch %s ended with status %d after %.1f s.", c->id, c->status,
                                (double) usec / (double) USEC_PER_SEC);
        else
                (void) snprintf(message, sizeof(message), "Launch %s lost its launcher after %.1f s and is cleared away.", c->id,
                                (double) usec / (double) USEC_PER_SEC);
        (void) snprintf(status, sizeof(status), "%d", c->status);
        (void) snprintf(duration, sizeof(duration), "%llu", (unsigned long long) usec);

        (void) journal_send(&(JournalEntry) {
                        .priority = c->done ? LOG_INFO : LOG_WARNING,
                        .message_id = MESSAGE_LAUNCH_ENDED,
                        .message = message,
                        .profile = c->supervisor->profile,
                        .launch = c->id,
                        .fields = (const JournalField[]) {
                                { .name = "LAUNCH_DIRECTORY", .value = c->directory },
                                { .name = "LAUNCH_STATUS", .value = c->done ? status : NULL },
                                { .name = "LAUNCH_DURATION_USEC", .value = duration },
                        },
                        .n_fields = 3 });
}

void event_page_opened(const Supervisor *s, const char *id, const char *url) {
        char message[128];

        (void) snprintf(message, sizeof(message), "Opening a page in the browser for launch %s.", id);

        (void) journal_send(&(JournalEntry) {
                        .priority = LOG_INFO,
                        .message_id = MESSAGE_PAGE_OPENED,
                        .message = message,
                        .profile = s->profile,
                        .launch = id,
                        .fields = &(JournalField) { .name = "BROWSER_URL", .value = url, .foreign = true },
                        .n_fields = 1 });
}

void event_guard_lifted(const Supervisor *s, const char *id, const GuardLifted *e) {
        char message[256], off[FIELD_MAX];

        (void) snprintf(message, sizeof(message), "A file that launch %s guards was %s on the host; the guard was off for %.1f ms%s.",
                        id, e->gone ? "removed" : "replaced", (double) e->off_usec / (double) USEC_PER_MSEC,
                        e->gone ? "; it is guarded again when it is back" : e->same_content ? ", the content is as before" : "");
        (void) snprintf(off, sizeof(off), "%llu", (unsigned long long) e->off_usec);

        (void) journal_send(&(JournalEntry) {
                        .priority = LOG_WARNING,
                        .message_id = MESSAGE_GUARD_LIFTED,
                        .message = message,
                        .profile = s->profile,
                        .launch = id,
                        .fields = (const JournalField[]) {
                                { .name = "CHANGED", .value = e->path, .foreign = true },
                                { .name = "GUARD_OFF_USEC", .value = off },
                        },
                        .n_fields = 2 });
}

void event_launch_cut(const Supervisor *s, const char *id, const char *why) {
        _cleanup_free_ char *message = NULL;

        if (asprintf_to(&message, "Launch %s is ended, because a guard cannot be kept in place: %s.", id, why) < 0)
                return;

        (void) journal_send(&(JournalEntry) {
                        .priority = LOG_ERR,
                        .message_id = MESSAGE_GUARD_LOST,
                        .message = message,
                        .profile = s->profile,
                        .launch = id });
}
