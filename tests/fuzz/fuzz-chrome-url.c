/* SPDX-License-Identifier: MIT */

/* The address of a page. Whatever is allowed has one of two hosts, stays below its path however a browser normalizes it, and
 * needs no quoting anywhere. */

#include <string.h>

#include "fuzz.h"
#include "shared/chrome-url.h"

/* Decodes percent signs until none is left, as the worst of servers would. */
static size_t decode_all(char *p, size_t n) {
        for (bool again = true; again;) {
                size_t k = 0;

                again = false;
                for (size_t i = 0; i < n; i++) {
                        unsigned byte;

                        if (p[i] == '%' && i + 2 < n && sscanf((char[]) { p[i + 1], p[i + 2], '\0' }, "%2x", &byte) == 1) {
                                p[k++] = (char) byte;
                                i += 2;
                                again = true;
                        } else
                                p[k++] = p[i];
                }
                n = k;
        }

        return n;
}

static void check_path(const char *path, size_t n) {
        char decoded[CHROME_URL_MAX + 1];

        memcpy(decoded, path, n);
        n = decode_all(decoded, n);
        decoded[n] = '\0';
        PROPERTY(strlen(decoded) == n && !strchr(decoded, '\\'));
        PROPERTY(strncmp(decoded, "/chrome", 7) == 0 && (decoded[7] == '\0' || decoded[7] == '/'));
        PROPERTY(!strstr(decoded, "/.") && !strstr(decoded, "//"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        const char *url = (const char *) data, *path;
        size_t n;

        if (!chrome_url_is_allowed(url, size))
                return 0;

        PROPERTY(size <= CHROME_URL_MAX);
        for (size_t i = 0; i < size; i++)
                PROPERTY(data[i] > ' ' && data[i] < 0x7f && !strchr("\"\\<>^`{|}", data[i]));

        if (size >= 15 && memcmp(url, "https://clau.de", 15) == 0)
                path = url + 15;
        else {
                PROPERTY(size >= 17 && memcmp(url, "https://claude.ai", 17) == 0);
                path = url + 17;
        }

        for (n = 0; path + n < url + size && path[n] != '?' && path[n] != '#'; n++)
                ;
        check_path(path, n);

        /* Nothing in front of it or cut from it is taken for the same. */
        PROPERTY(!chrome_url_is_allowed(url + 1, size - 1));
        return 0;
}
