/* SPDX-License-Identifier: MIT */
#pragma once

/* Structured journal entries. Sent without waiting: a journal that does not read, or does not run, must not
 * hold up whoever has something to say, and with sd_journal_sendv(3) it does. */

#include <syslog.h>

#include "basic/macro.h"

/* What happened; claude-profile.catalog explains each. */
#define MESSAGE_LAUNCH_STARTED "3694322a7de140158642be0d2f5bdebf"
#define MESSAGE_LAUNCH_ENDED "8d27c82968f84198b528de3aaf5c64f7"
#define MESSAGE_CONNECTION_SERVED "aea2a4c9987e42e4843f915ab144c408"
#define MESSAGE_CONNECTION_REFUSED "2fc7d2193e544122bf2855c6c38ce197"
#define MESSAGE_CONNECTIONS_SUPPRESSED "aadaae314307401eb52c9971931bad2f"
#define MESSAGE_SIGNATURE_MADE "279a61ccb42646efaeef397914ed52f2"
#define MESSAGE_PAGE_OPENED "4ae28900cee84508a1294dcf30840500"
#define MESSAGE_HOST_TRUSTED_CHANGED "09ac4ce77ad8441cbfc813a47d894ed5"
#define MESSAGE_GUARD_LIFTED "1d3af3175efd47e38c6788a8f575c1ca"
#define MESSAGE_GUARD_LOST "73fc38c2b2cf4049803fffbeff0b9d63"

#define JOURNAL_FOREIGN_TEXT_MAX 200 /* bytes, of text that a guest chose */
#define JOURNAL_TEXT_MAX 4096        /* bytes, of any other */

typedef struct JournalField {
        const char *name;
        const char *value; /* NULL: left out */
        bool foreign;      /* a guest chose it: cut after JOURNAL_FOREIGN_TEXT_MAX */
} JournalField;

typedef struct JournalEntry {
        int priority;           /* LOG_INFO… */
        const char *message_id; /* NULL: none */
        const char *message;
        const char *profile; /* CLAUDE_PROFILE=, NULL: none */
        const char *launch;  /* CLAUDE_LAUNCH=, NULL: none */
        const JournalField *fields;
        size_t n_fields;
} JournalEntry;

/* Prints the entry as the journal's socket takes it; every value is escaped, so none can hold a newline. The
 * caller frees. Returns 0 or -ENOMEM. */
int journal_format(const JournalEntry *e, char **ret, size_t *ret_n);

/* Returns 0 or negative errno: -EAGAIN when the journal does not keep up, -ENOENT when there is none. */
int journal_send(const JournalEntry *e);

/* For who is about to end, and has no next time: from now on the journal is waited for, until then at most, in
 * microseconds of CLOCK_MONOTONIC. */
void journal_wait_until(uint64_t usec);
