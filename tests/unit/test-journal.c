/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "shared/journal.h"

static char *format(const JournalEntry *e) {
        char *text = NULL;
        size_t n = 0;

        assert_int_equal(journal_format(e, &text, &n), 0);
        assert_int_equal(n, strlen(text));
        return text;
}

static void test_entry(void **state) {
        static const JournalField fields[] = {
                { .name = "BRIDGE_SERVICE", .value = "ssh-0" },
                { .name = "BRIDGE_REASON", .value = NULL },
                { .name = "PEER_UID", .value = "1000" },
        };
        const JournalEntry e = {
                .priority = LOG_NOTICE,
                .message_id = MESSAGE_CONNECTION_SERVED,
                .message = "Served ssh-0.",
                .profile = "work",
                .launch = "89abcdef",
                .fields = fields,
                .n_fields = ELEMENTSOF(fields),
        };
        _cleanup_free_ char *text = format(&e), *expected = NULL;

        assert_int_equal(asprintf_to(&expected,
                                         "MESSAGE=Served ssh-0.\n"
                                         "MESSAGE_ID=" MESSAGE_CONNECTION_SERVED "\n"
                                         "PRIORITY=5\n"
                                         "SYSLOG_IDENTIFIER=%s\n"
                                         "CLAUDE_PROFILE=work\n"
                                         "CLAUDE_LAUNCH=89abcdef\n"
                                         "BRIDGE_SERVICE=ssh-0\n"
                                         "PEER_UID=1000\n",
                                         program_invocation_short_name),
                        0);
        assert_string_equal(text, expected);
}

static void test_bare_entry(void **state) {
        const JournalEntry e = { .priority = LOG_ERR, .message = "Text." };
        _cleanup_free_ char *text = format(&e);

        assert_memory_equal(text, "MESSAGE=Text.\nPRIORITY=3\nSYSLOG_IDENTIFIER=", 43);
        assert_null(strstr(text, "CLAUDE"));
}

/* A value cannot add a field of its own, drive a terminal, or be long. */
static void test_foreign_text(void **state) {
        char long_text[JOURNAL_TEXT_MAX * 2];
        JournalField field = {
                .name = "BRIDGE_SERVICE", .value = "a\nPRIORITY=0\n\x1b[2J\xff", .foreign = true
        };
        const JournalEntry e = { .priority = LOG_INFO, .message = "a\nb", .fields = &field, .n_fields = 1 };
        _cleanup_free_ char *text = format(&e), *longer = NULL, *longest = NULL;
        const char *value;

        assert_non_null(strstr(text, "MESSAGE=a\\x0ab\n"));
        assert_non_null(strstr(text, "\nBRIDGE_SERVICE=a\\x0aPRIORITY=0\\x0a\\x1b[2J\\xff\n"));
        assert_null(strstr(text, "\nPRIORITY=0"));

        memset(long_text, 'x', sizeof(long_text));
        long_text[sizeof(long_text) - 1] = '\0';
        field.value = long_text;
        longer = format(&e);
        value = strstr(longer, "BRIDGE_SERVICE=") + STRLEN("BRIDGE_SERVICE=");
        assert_int_equal(strspn(value, "x"), JOURNAL_FOREIGN_TEXT_MAX);
        assert_memory_equal(value + JOURNAL_FOREIGN_TEXT_MAX, "…\n", STRLEN("…\n"));

        field.foreign = false;
        longest = format(&e);
        value = strstr(longest, "BRIDGE_SERVICE=") + STRLEN("BRIDGE_SERVICE=");
        assert_int_equal(strspn(value, "x"), JOURNAL_TEXT_MAX);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_entry),
                cmocka_unit_test(test_bare_entry),
                cmocka_unit_test(test_foreign_text),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
