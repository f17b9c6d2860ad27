/* SPDX-License-Identifier: MIT */

/* What browsers do to an address before they use it is what this has to be proof against: they drop tabs
 * and line ends, take a backslash for a slash, decode dot segments and go up by them, look for a host behind
 * an "@", and more. So this does not parse as a browser would; it knows one form that every browser reads
 * alike, and refuses the rest:
 *
 *   "https://" ("clau.de" | "claude.ai") "/chrome" { "/" segment } [ "?" text ] [ "#" text ]
 *
 * in plain ASCII, where a segment is neither empty (but for the last one) nor begins with a dot, and does
 * not encode any byte that could mean something once it is decoded. */

#include <string.h>

#include "shared/chrome-url.h"

static const char *const allowed_prefixes[] = { "https://clau.de/chrome", "https://claude.ai/chrome" };

/* RFC 3986: unreserved and reserved characters of a path segment, without "%". */
static bool is_segment_char(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c != '\0' && strchr("-._~!$&'()*+,;=:@", c));
}

static bool is_text_char(char c) {
        return is_segment_char(c) || c == '/' || c == '?';
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;

        return -1;
}

/* The byte that "%XX" at `p` stands for, or -1. */
static int decode(const char *p, const char *end) {
        int high, low;

        if (end - p < 3)
                return -1;

        high = hex_digit(p[1]);
        low = hex_digit(p[2]);
        return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* In a path: an encoded dot, slash or backslash moves elsewhere, "%25" is the beginning of a second round of
 * decoding, and control characters have no business there. */
static bool may_be_encoded(int byte) {
        return byte > ' ' && byte != 0x7f && !strchr("./\\%", byte);
}

/* Each returns where its part ends, or NULL when that is not as it must be. */

static const char *skip_path(const char *p, const char *end) {
        while (p < end && *p != '?' && *p != '#') {
                if (*p == '/') {
                        if (p + 1 < end && (p[1] == '/' || p[1] == '.'))
                                return NULL;
                        p++;
                } else if (*p == '%') {
                        if (!may_be_encoded(decode(p, end)))
                                return NULL;
                        p += 3;
                } else if (is_segment_char(*p))
                        p++;
                else
                        return NULL;
        }

        return p;
}

static const char *skip_text(const char *p, const char *end) {
        while (p < end && *p != '#') {
                if (*p == '%' && decode(p, end) < 0)
                        return NULL;
                if (*p != '%' && !is_text_char(*p))
                        return NULL;
                p++;
        }

        return p;
}

bool chrome_url_is_allowed(const char *url, size_t n) {
        const char *end = url + n, *p = NULL;

        if (n > CHROME_URL_MAX)
                return false;

        for (size_t i = 0; i < ELEMENTSOF(allowed_prefixes) && !p; i++) {
                size_t length = strlen(allowed_prefixes[i]);

                if (n >= length && memcmp(url, allowed_prefixes[i], length) == 0)
                        p = url + length;
        }
        if (!p || (p < end && !strchr("/?#", *p)) || (p < end && *p == '\0'))
                return false;

        p = skip_path(p, end);
        if (p && p < end && *p == '?')
                p = skip_text(p + 1, end);
        if (p && p < end && *p == '#')
                p = skip_text(p + 1, end);

        return p == end;
}
