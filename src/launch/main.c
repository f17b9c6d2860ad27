/* SPDX-License-Identifier: MIT */

/* claude-profile: finds the command in the table and calls it. A first word that is no command and no option
 * is a profile to launch. */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "config.h"
#include "launch/complete.h"
#include "launch/verbs.h"

static int flush(FILE *f) {
        return fflush(f) == 0 ? 0 : log_error(-errno, "Cannot write to standard output");
}

/* Padded by characters, not bytes: "…" is one. */
static void print_row(FILE *f, const Verb *v) {
        int n = 0;

        for (const char *p = v->arguments; *p; p++)
                n += (*p & 0xc0) != 0x80;

        (void) fprintf(f, "  %s %s%*s %s\n", v->name, v->arguments, MAX(0, 27 - n - (int) strlen(v->name)),
                        "", v->help);
}

static int print_help(FILE *f) {
        (void) fprintf(f, "Usage: claude-profile NAME [CLAUDE ARGUMENT…]\n"
                          "       claude-profile COMMAND [OPTION…] [ARGUMENT…]\n"
                          "\n"
                          "Runs Claude Code with the login, settings and history of profile NAME, on the\n"
                          "host or in a sandbox. Commands:\n");

        for (const Verb *const *v = verb_table; *v; v++)
                print_row(f, *v);

        (void) fprintf(f, "  -h, --help                   Show this help, or behind a command its own\n"
                          "More: man claude-profile, man claude-profile.conf, claude-profile --version\n");

        return flush(f);
}

static int refuse_option(const char *word) {
        _cleanup_free_ char *shown = str_escape_n(word, strlen(word), 80);

        (void) log_error(0,
                        "Unknown option \"%s\". Options for claude stand behind a profile: claude-profile "
                        "NAME %s.",
                        shown ?: "?", shown ?: "?");
        return EXIT_USAGE;
}

int main(int argc, char *argv[]) {
        const Verb *verb;
        int r;

        log_setup("claude-profile");
        r = fd_fill_stdio();
        if (r < 0) {
                (void) log_error(r, "Cannot open /dev/null");
                return EXIT_FAILURE;
        }

        if (argc < 2) {
                (void) print_help(stderr);
                return EXIT_USAGE;
        }

        if (streq(argv[1], "--help") || streq(argv[1], "-h"))
                return print_help(stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        if (streq(argv[1], "--version")) {
                (void) printf("claude-profile %s\n", PROJECT_VERSION);
                return flush(stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        }

        if (streq(argv[1], COMPLETE_COMMAND))
                return complete_print(argv + 2);
        if (argv[1][0] == '-')
                return refuse_option(argv[1]);

        verb = verb_find(argv[1]);
        if (verb)
                return verb_call(verb, argv + 2, false);

        return verb_call(&verb_run, argv + 1, true);
}
