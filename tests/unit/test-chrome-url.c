/* SPDX-License-Identifier: MIT */

/* Which addresses a guest may have opened: cases U03 to U05 and their kind. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "basic/alloc.h"
#include "shared/chrome-url.h"

typedef struct Row {
        const char *url;
        size_t n; /* 0: up to the NUL */
} Row;

/* Judged in a buffer of exactly its size, so that a sanitizer or valgrind sees a byte read too far. */
static bool allowed(const Row *row) {
        size_t n = row->n ?: strlen(row->url);
        _cleanup_free_ char *exact = malloc(n ?: 1);

        assert_non_null(exact);
        memcpy(exact, row->url, n);
        return chrome_url_is_allowed(exact, n);
}

static void test_allowed(void **state) {
        static const Row rows[] = {
                { .url = "https://clau.de/chrome" },
                { .url = "https://claude.ai/chrome" },
                { .url = "https://claude.ai/chrome/" },
                { .url = "https://clau.de/chrome/reconnect" },
                { .url = "https://clau.de/chrome/permissions" },
                { .url = "https://clau.de/chrome/tab/1234567" },
                { .url = "https://clau.de/chrome/a/b.c/d-e_f~g/" },
                { .url = "https://clau.de/chrome?x=1&y=2" },
                { .url = "https://clau.de/chrome/?" },
                { .url = "https://clau.de/chrome#top" },
                { .url = "https://clau.de/chrome?a=/../x#/../y?z" },
                { .url = "https://clau.de/chrome/tab?u=https%3A%2F%2Fexample.invalid%2F%2e%2e" },
                { .url = "https://clau.de/chrome/caf%C3%A9" },
                { .url = "https://clau.de/chrome/a:80@b" },
                { .url = "https://clau.de/chrome/a..b" },
                { .url = "https://claude.ai/chrome?a=1&b=$(touch)';touch;" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (!allowed(&rows[i]))
                        fail_msg("refused: %s", rows[i].url);
}

/* U03: control characters, blanks, missing slashes, other schemes */
static const Row u03_control_and_schemes[] = {
        { .url = "ht\ttps://attacker.invalid/" },
        { .url = "https:/\t/attacker.invalid/" },
        { .url = "https://claude.ai\t.attacker.invalid/" },
        { .url = "https://claude.ai\t/chrome" },
        { .url = "https://claude.ai/ch\trome" },
        { .url = "https://claude.ai/chrome\t" },
        { .url = "https://claude.ai/chrome\r" },
        { .url = "https://claude.ai/chrome\n" },
        { .url = "https://claude.ai/chrome\x1b[2J" },
        { .url = "https://claude.ai/chrome\x7f" },
        { .url = "https://claude.ai/chrome?a\tb" },
        { .url = "https://claude.ai/chrome#a\nb" },
        { .url = " https://claude.ai/chrome" },
        { .url = "https://claude.ai/chrome " },
        { .url = "https://claude.ai/chrome /x" },
        { .url = "https://claude.ai/chrome?a b" },
        { .url = "\"https://claude.ai/chrome\"" },
        { .url = "https:claude.ai/chrome" },
        { .url = "https:/claude.ai/chrome" },
        { .url = "https:///claude.ai/chrome" },
        { .url = "//claude.ai/chrome" },
        { .url = "claude.ai/chrome" },
        { .url = "http://claude.ai/chrome" },
        { .url = "HTTPS://claude.ai/chrome" },
        { .url = "java\tscript:alert(1)" },
        { .url = "javascript:alert(1)//https://claude.ai/chrome" },
        { .url = "file:///etc/passwd" },
        { .url = "file://claude.ai/chrome" },
        { .url = "chrome://settings" },
        { .url = "data:text/html,x" },
        { .url = "view-source:https://claude.ai/chrome" },
        { .url = "blob:https://claude.ai/chrome" },
        { .url = "wss://claude.ai/chrome" },
        { .url = "https://claude.ai/chrome\0", .n = 25 },
        { .url = "https://claude.ai/\0chrome", .n = 25 },
        { .url = "https://claude.ai\0/chrome", .n = 25 },
        { .url = "https://claude.ai/chrome?\0", .n = 26 },
        { .url = "\0https://claude.ai/chrome", .n = 25 },
        { .url = "https://claude.ai/chrome/\xff" },
        { .url = "https://claude.ai/chrome/caf\xc3\xa9" },
        { .url = "https://cl\xd0\xb0ude.ai/chrome" },          /* Cyrillic a */
        { .url = "https://claude\xe3\x80\x82" "ai/chrome" },   /* ideographic full stop */
        { .url = "https://claude.ai\xef\xbc\x8f" "chrome" },   /* full-width solidus */
        { .url = "" , .n = 0 },
};

/* U04: beginnings and ends */
static const Row u04_prefixes[] = {
        { .url = "https://claude.ai.attacker.invalid/chrome" },
        { .url = "https://claude.aix/" },
        { .url = "https://claude.aix/chrome" },
        { .url = "https://notclaude.ai/chrome" },
        { .url = "https://evil-clau.de/chrome" },
        { .url = "https://sub.claude.ai/chrome" },
        { .url = "https://www.clau.de/chrome" },
        { .url = "https://clau.de.attacker.invalid/chrome" },
        { .url = "https://clau.de./chrome" },
        { .url = "https://Claude.ai/chrome" },
        { .url = "https://claude.ai" },
        { .url = "https://claude.ai/" },
        { .url = "https://claude.ai/chrom" },
        { .url = "https://claude.ai/Chrome" },
        { .url = "https://claude.ai/chromebook-ad" },
        { .url = "https://claude.ai/chrome.html" },
        { .url = "https://claude.ai/chrome;x" },
        { .url = "https://claude.ai/chrome%2Fx" },
        { .url = "https://claude.ai/chrome:80" },
        { .url = "https://claude.ai/chrome@x" },
        { .url = "https://claude.ai/other/path" },
        { .url = "https://claude.ai/other?x=/chrome" },
        { .url = "https://claude.ai//chrome" },
        { .url = "https://claude.ai/./chrome" },
        { .url = "https://claude.ai/%63hrome" },
        { .url = "https://claude.ai?/chrome" },
        { .url = "https://claude.ai#/chrome" },
};

/* Ports, user info, encodings of the host */
static const Row authorities[] = {
        { .url = "https://claude.ai:443/chrome" },
        { .url = "https://claude.ai:/chrome" },
        { .url = "https://claude.ai@evil.example/chrome" },
        { .url = "https://claude.ai/chrome@evil.example/" },
        { .url = "https://user@claude.ai/chrome" },
        { .url = "https://user:pw@claude.ai/chrome" },
        { .url = "https://@claude.ai/chrome" },
        { .url = "https://claude%2eai/chrome" },
        { .url = "https://claude.ai%2fchrome" },
        { .url = "https://[::1]/chrome" },
};

/* Dot segments, plain and encoded, once and twice */
static const Row dot_segments[] = {
        { .url = "https://claude.ai/chrome/../settings" },
        { .url = "https://claude.ai/chrome/.." },
        { .url = "https://claude.ai/chrome/." },
        { .url = "https://claude.ai/chrome/./x" },
        { .url = "https://claude.ai/chrome/../chrome" },
        { .url = "https://claude.ai/chrome/..;/settings" },
        { .url = "https://claude.ai/chrome/...//x" },
        { .url = "https://claude.ai/chrome/.hidden" },
        { .url = "https://claude.ai/chrome//../settings" },
        { .url = "https://claude.ai/chrome//evil.example" },
        { .url = "https://claude.ai/chrome/%2e%2e/settings" },
        { .url = "https://claude.ai/chrome/%2E%2E/settings" },
        { .url = "https://claude.ai/chrome/.%2e/settings" },
        { .url = "https://claude.ai/chrome/%2e./settings" },
        { .url = "https://claude.ai/chrome/x/%2e%2E/%2e%2e/settings" },
        { .url = "https://claude.ai/chrome/..%2fsettings" },
        { .url = "https://claude.ai/chrome/x%2F..%2F..%2Fsettings" },
        { .url = "https://claude.ai/chrome/%252e%252e/settings" },
        { .url = "https://claude.ai/chrome/%252E%252e%252fsettings" },
        { .url = "https://claude.ai/chrome/x%25" },
        { .url = "https://claude.ai/chrome/%5c..%5csettings" },
        { .url = "https://claude.ai/chrome/%00" },
        { .url = "https://claude.ai/chrome/%0a" },
        { .url = "https://claude.ai/chrome/%0D%0ASet-Cookie:x" },
        { .url = "https://claude.ai/chrome/%20" },
        { .url = "https://claude.ai/chrome/%7f" },
        { .url = "https://claude.ai/chrome/%" },
        { .url = "https://claude.ai/chrome/%2" },
        { .url = "https://claude.ai/chrome/%zz" },
        { .url = "https://claude.ai/chrome/%u002e" },
        { .url = "https://claude.ai/chrome?%" },
        { .url = "https://claude.ai/chrome?%4" },
        { .url = "https://claude.ai/chrome#a#b" },
};

/* Backslashes, and what no URL holds unencoded */
static const Row not_in_urls[] = {
        { .url = "https:\\\\claude.ai\\chrome" },
        { .url = "https://claude.ai\\chrome" },
        { .url = "https://claude.ai\\@evil.example/chrome" },
        { .url = "https://evil.example\\@claude.ai/chrome" },
        { .url = "https://claude.ai/chrome\\..\\settings" },
        { .url = "https://claude.ai/chrome/\\evil.example" },
        { .url = "https://claude.ai/chrome?\\" },
        { .url = "https://claude.ai/chrome/<script>" },
        { .url = "https://claude.ai/chrome?a=\"b\"" },
        { .url = "https://claude.ai/chrome/{x}" },
        { .url = "https://claude.ai/chrome/`id`" },
        { .url = "https://claude.ai/chrome/a|b" },
        { .url = "https://claude.ai/chrome/a^b" },
        { .url = "https://claude.ai/chrome/[x]" },
};

/* U05: options and shell text */
static const Row u05_options[] = {
        { .url = "--renderer-cmd-prefix=touch /tmp/m" },
        { .url = "-new-window" },
        { .url = "--app=https://claude.ai/chrome" },
        { .url = "https://claude.ai/chrome?a=1&b=$(touch /tmp/m)';touch /tmp/m;\"" },
        { .url = "https://claude.ai/chrome --no-sandbox" },
};

static void expect_refused(const Row *rows, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (allowed(&rows[i]))
                        fail_msg("row %zu let through: %s", i, rows[i].url);
}

static void test_refused(void **state) {
        expect_refused(u03_control_and_schemes, ELEMENTSOF(u03_control_and_schemes));
        expect_refused(u04_prefixes, ELEMENTSOF(u04_prefixes));
        expect_refused(authorities, ELEMENTSOF(authorities));
        expect_refused(dot_segments, ELEMENTSOF(dot_segments));
        expect_refused(not_in_urls, ELEMENTSOF(not_in_urls));
        expect_refused(u05_options, ELEMENTSOF(u05_options));
}

static void test_length(void **state) {
        static char url[100000];
        size_t prefix = strlen("https://clau.de/chrome/");

        memset(url, 'a', sizeof(url));
        memcpy(url, "https://clau.de/chrome/", prefix);
        assert_true(chrome_url_is_allowed(url, CHROME_URL_MAX));
        assert_false(chrome_url_is_allowed(url, CHROME_URL_MAX + 1));
        assert_false(chrome_url_is_allowed(url, sizeof(url)));
}

/* Every single byte in place of one of a good address: what is let through is known by heart. */
static void test_every_byte(void **state) {
        const char good[] = "https://clau.de/chrome/a";
        const char *segment = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_~!$&'()*+,;=:@?#";

        for (size_t i = 0; i < STRLEN("https://clau.de/chrome/a"); i++)
                for (int byte = 0; byte < 256; byte++) {
                        char copy[sizeof(good)];
                        bool expected;

                        memcpy(copy, good, sizeof(good));
                        copy[i] = (char) byte;
                        expected = copy[i] == good[i];
                        if (i == STRLEN("https://clau.de/chrome/"))
                                expected = byte != 0 && strchr(segment, byte);
                        else if (i == STRLEN("https://clau.de/chrome"))
                                expected = byte != 0 && strchr("/?#", byte);

                        if (chrome_url_is_allowed(copy, sizeof(good) - 1) != expected)
                                fail_msg("byte %#x at %zu", (unsigned) byte, i);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_allowed),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_length),
                cmocka_unit_test(test_every_byte),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
