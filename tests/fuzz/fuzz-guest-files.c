/* SPDX-License-Identifier: MIT */

/* What the launcher leaves for the guest: the way to the bridge, lists of strings, the sockets that are forwarded. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/strv.h"
#include "fuzz.h"
#include "guest/bridge.h"
#include "guest/forward-list.h"
#include "guest/launch-files.h"

static void check_bridge(const char *text, size_t n) {
        char line[WIRE_LINE_MAX];
        Bridge b;

        if (bridge_parse(text, n, &b) < 0)
                return;

        PROPERTY(hex_is_valid(b.token, WIRE_TOKEN_LENGTH));
        PROPERTY(b.address.sin_family == AF_INET && b.address.sin_port != 0);
        PROPERTY(bridge_format_handshake(&b, "ssh-0", line) == WIRE_TOKEN_LENGTH + STRLEN(" ssh-0\n"));
}

/* One behind the other, the strings are the text again. */
static void check_list(const char *text, size_t n) {
        _cleanup_strv_ char **list = NULL;
        const char *p = text;

        if (nul_list_parse(text, n, &list) < 0) {
                PROPERTY(n > 0 && text[n - 1] != '\0');
                return;
        }

        STRV_FOREACH(s, list) {
                PROPERTY(strlen(*s) < (size_t) (text + n - p) && memcmp(*s, p, strlen(*s) + 1) == 0);
                p += strlen(*s) + 1;
        }
        PROPERTY(p == text + n);
}

static void check_forwards(const char *text, size_t n) {
        _cleanup_forward_list_ ForwardList list = {};
        _cleanup_free_ char *string = memdup_nul(text, n);

        PROPERTY(string);
        if (forward_list_parse(string, &list) < 0)
                return;

        PROPERTY(list.n <= FORWARDS_MAX);
        for (size_t i = 0; i < list.n; i++) {
                PROPERTY(path_is_normalized(list.items[i].path));
                for (size_t k = 0; k < i; k++)
                        PROPERTY(strcmp(list.items[i].path, list.items[k].path) != 0);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        check_bridge((const char *) data, size);
        check_list((const char *) data, size);
        check_forwards((const char *) data, size);
        return 0;
}
