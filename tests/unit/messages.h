/* SPDX-License-Identifier: MIT */
#pragma once

/* What the tested code says to the user: standard error, caught in a file in memory. Include after cmocka.h. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int messages_fd = -1, messages_saved_fd = -1;

__attribute__((unused)) static void messages_begin(void) {
        assert_int_equal(messages_fd, -1);
        messages_fd = memfd_create("messages", MFD_CLOEXEC);
        messages_saved_fd = dup(STDERR_FILENO);
        assert_true(messages_fd >= 0 && messages_saved_fd >= 0);
        assert_int_equal(dup2(messages_fd, STDERR_FILENO), STDERR_FILENO);
}

/* What was said since; valid until the next call. */
__attribute__((unused)) static const char *messages_end(void) {
        static char text[64 * 1024];
        ssize_t n;

        assert_int_equal(dup2(messages_saved_fd, STDERR_FILENO), STDERR_FILENO);
        n = pread(messages_fd, text, sizeof(text) - 1, 0);
        assert_true(n >= 0);
        text[n] = '\0';

        (void) close(messages_fd);
        (void) close(messages_saved_fd);
        messages_fd = messages_saved_fd = -1;
        return text;
}

__attribute__((unused)) static void assert_contains(const char *text, const char *part) {
        if (!text || !part || !strstr(text, part))
                fail_msg("\"%s\" is not in: %s", part ?: "nothing", text ?: "nothing");
}

/* Exactly one line, which holds `part`; nothing that could drive a terminal. */
__attribute__((unused)) static void assert_one_message(const char *text, const char *part) {
        assert_contains(text, part);
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
        for (const char *p = text; p[1]; p++)
                if ((unsigned char) *p < 0x20 || *p == 0x7f)
                        fail_msg("a control character in: %s", text);
}

/* One line with `said` in it; NULL: nothing at all. */
__attribute__((unused)) static void assert_said(const char *text, const char *said) {
        if (said)
                assert_one_message(text, said);
        else
                assert_string_equal(text, "");
}
