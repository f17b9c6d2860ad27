/* SPDX-License-Identifier: MIT */

/* The arguments of wl-paste. What is allowed is printed so that it means the same and needs no quoting, and becomes a command
 * line without anything but the options that read; and a list of targets becomes one of types. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "fuzz.h"
#include "shared/paste.h"

static void check_argv(const PasteRequest *r) {
        for (PasteProgram program = 0; program < _PASTE_PROGRAM_MAX; program++) {
                _cleanup_strv_ char **argv = NULL;

                PROPERTY(paste_argv(r, program, "/usr/bin/program", &argv) == 0);
                PROPERTY(streq(argv[0], "/usr/bin/program"));
                for (size_t i = 1; argv[i]; i++)
                        if (program == PASTE_WL_PASTE)
                                PROPERTY(streq(argv[i], "--list-types") || streq(argv[i], "--no-newline") ||
                                                (streq(argv[i], "--type") && argv[i + 1]) ||
                                                (streq(argv[i - 1], "--type") && argv[i][0] != '-'));
                        else
                                PROPERTY(i < 4 || argv[i][0] != '-' || (i == 4 && streq(argv[i], "-t")));
        }
}

static void check_targets(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = memdup_nul(data, size), *types = NULL;

        PROPERTY(text && paste_targets_to_types(text, &types) == 0);
        PROPERTY(types[0] == '\0' || str_has_suffix(types, "\n"));
        PROPERTY(!strstr(types, "TARGETS\n") || strchr(types, '/'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        PasteRequest r = {}, again = {};
        char buf[PASTE_LINE_MAX];

        check_targets(data, size);
        if (paste_request_parse((const char *) data, size, &r) < 0)
                return 0;

        PROPERTY(size <= PASTE_LINE_MAX && !memchr(data, '\0', size) && !memchr(data, '\n', size));
        PROPERTY(r.type[0] == '\0' || strncmp(r.type, "image/", 6) == 0 || strncmp(r.type, "text/", 5) == 0);
        PROPERTY(!strpbrk(r.type, " \"'\\$`*%:,\n"));

        (void) paste_request_format(&r, buf);
        PROPERTY(paste_request_parse(buf, strlen(buf), &again) == 0);
        PROPERTY(r.list == again.list && r.no_newline == again.no_newline && streq(r.type, again.type));
        check_argv(&r);
        (void) paste_answer_fits(&r, (const char *) data, size);
        return 0;
}
