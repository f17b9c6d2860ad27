/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/output.h"
#include "launch/verb.h"
#include "shared/profile.h"

#define SHOWN_MAX 120 /* bytes of foreign text in a message */

const Option verb_help_option = { 'h', "help", NULL, "Show this help" };

int usage_error(const Verb *verb, const char *format, ...) {
        char text[1024];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);

        (void) log_error(0, "%s: %s. See: claude-profile %s --help", verb->name, text, verb->name);
        return EXIT_USAGE;
}

/* The same about a word that somebody else chose. */
static int usage_error_about(const Verb *verb, const char *what, const char *foreign) {
        _cleanup_free_ char *shown = str_escape_n(foreign, strlen(foreign), SHOWN_MAX);

        return usage_error(verb, "%s \"%s\"", what, shown ?: "?");
}

static bool option_matches(const Option *o, const char *word, const char **ret_value) {
        const char *rest;

        if (word[1] != '-') {
                *ret_value = NULL;
                return o->letter && word[1] == o->letter && word[2] == '\0';
        }

        rest = str_after_prefix(word + 2, o->name);
        if (!rest || (*rest != '\0' && *rest != '='))
                return false;

        *ret_value = *rest ? rest + 1 : NULL;
        return true;
}

const Option *verb_find_option(const Verb *verb, const char *word, const char **ret_value) {
        for (const Option *o = verb->options; o && o->name; o++)
                if (option_matches(o, word, ret_value))
                        return o;

        return option_matches(&verb_help_option, word, ret_value) ? &verb_help_option : NULL;
}

/* One option, and the word behind it if that is its argument. Moves `*argv` on. 0, negative errno, or
 * EXIT_USAGE. */
static int parse_option(Command *c, char ***argv, const Option *option, const char *value) {
        char *const word = *(*argv)++;

        if (value && !option->argument)
                return usage_error_about(c->verb, "no value belongs to", word);
        if (option->argument && !value) {
                if (!**argv)
                        return usage_error_about(c->verb, "a value is missing after", word);
                value = *(*argv)++;
        }

        c->given[c->n_given++] = (GivenOption) { .option = option, .value = value };
        return 0;
}

static int parse(Command *c, char **argv) {
        const VerbFlags flags = c->verb->flags;
        size_t n = 0;

        /* Every word is at most one option or one argument. */
        c->given = new0(GivenOption, strv_length(argv) + 1);
        c->args = new0(char *, strv_length(argv) + 1);
        if (!c->given || !c->args)
                return -ENOMEM;

        while (*argv) {
                const Option *option;
                const char *value;
                int r;

                if (streq(*argv, "--")) {
                        argv++;
                        break;
                }
                if (**argv != '-' || streq(*argv, "-")) {
                        if (flags & (VERB_OPTIONS_FIRST | VERB_FOREIGN_OPTIONS))
                                break;
                        c->args[n++] = *argv++;
                        continue;
                }

                option = verb_find_option(c->verb, *argv, &value);
                if (!option && (flags & VERB_FOREIGN_OPTIONS))
                        break;
                if (!option)
                        return usage_error_about(c->verb, "unknown option", *argv);

                r = parse_option(c, &argv, option, value);
                if (r != 0)
                        return r;
        }

        while (*argv)
                c->args[n++] = *argv++;

        return 0;
}

bool command_has(const Command *c, const char *option) {
        for (size_t i = 0; i < c->n_given; i++)
                if (streq(c->given[i].option->name, option))
                        return true;

        return false;
}

const char *command_value(const Command *c, const char *option) {
        for (size_t i = c->n_given; i > 0; i--)
                if (streq(c->given[i - 1].option->name, option))
                        return c->given[i - 1].value;

        return NULL;
}

int command_values(const Command *c, const char *option, char ***ret) {
        _cleanup_strv_ char **v = NULL;

        for (size_t i = 0; i < c->n_given; i++)
                if (streq(c->given[i].option->name, option)) {
                        int r;

                        r = strv_add(&v, c->given[i].value);
                        if (r < 0)
                                return r;
                }

        *ret = TAKE_PTR(v);
        return 0;
}

static void print_option(const Option *o) {
        char names[64];

        (void) snprintf(names, sizeof(names), "%c%c%s--%s%s%s", o->letter ? '-' : ' ', o->letter ?: ' ',
                        o->letter ? ", " : "  ", o->name, o->argument ? " " : "", o->argument ?: "");
        (void) printf("  %-24s %s\n", names, o->help);
}

static int print_help(const Verb *verb) {
        (void) printf("Usage: claude-profile %s%s%s%s\n\n%s.\n\n", verb->name,
                        verb->options ? " [OPTION…]" : "", verb->arguments[0] ? " " : "", verb->arguments,
                        verb->help);
        if (verb->details) {
                output_wrapped(verb->details, 0, 0);
                (void) printf("\n\n");
        }

        (void) printf("Options:\n");
        for (const Option *o = verb->options; o && o->name; o++)
                print_option(o);
        print_option(&verb_help_option);

        return 0;
}

/* Before any file is touched: every path, unit and message is made of the name. */
static int say_invalid_name(const char *name) {
        _cleanup_free_ char *shown = str_escape_n(name, strlen(name), SHOWN_MAX);

        (void) log_error(0,
                        "\"%s\" cannot be the name of a profile: letters, digits, \".\", \"_\" and \"-\" "
                        "can, a letter or digit first, at most 100 (fewer with many \"-\"), no ending like "
                        "\".service\".",
                        shown ?: "?");
        return EXIT_USAGE;
}

static int check_arguments(const Command *c) {
        const Verb *verb = c->verb;
        const size_t n = strv_length(c->args);

        if (n < verb->min)
                return usage_error(verb, n == 0 && (verb->flags & VERB_PROFILE) ? "which profile?"
                                                                                : "an argument is missing");
        if (n > verb->max)
                return usage_error_about(verb, "one argument too many:", c->args[verb->max]);
        if (verb->flags & VERB_PROFILE && n > 0 && !profile_name_is_valid(c->args[0]))
                return say_invalid_name(c->args[0]);

        return 0;
}

static int load(const Command *c, Dirs **ret_dirs, Settings **ret_settings) {
        const char *profile = c->verb->flags & VERB_PROFILE ? c->args[0] : NULL;
        _cleanup_free_ char *error = NULL;
        int r;

        r = dirs_load(ret_dirs);
        if (r == -ENXIO)
                return log_error(r, "There is no home directory: HOME is not set to an absolute path.");
        if (r < 0)
                return log_oom();

        r = settings_load(*ret_dirs, profile, ret_settings, &error);
        if (r < 0)
                return error ? log_error(r, "%s.", error) : log_oom();

        STRV_FOREACH(w, (*ret_settings)->warnings)
                log_warning("%s.", *w);

        return 0;
}

static int call(Command *c, char **argv, bool plain) {
        _cleanup_settings_ Settings *settings = NULL;
        _cleanup_dirs_ Dirs *dirs = NULL;
        int r = 0;

        if (plain)
                c->args = argv;
        else
                r = parse(c, argv);
        if (r != 0)
                return r == -ENOMEM ? log_oom() : r;

        if (command_has(c, "help"))
                return print_help(c->verb);

        r = check_arguments(c);
        if (r != 0)
                return r;

        r = load(c, &dirs, &settings);
        if (r < 0)
                return r;

        c->dirs = dirs;
        c->settings = settings;
        return c->verb->run(c);
}

int verb_call(const Verb *verb, char **argv, bool plain) {
        Command c = { .verb = verb };
        int r;

        r = call(&c, argv, plain);
        free(c.given);
        if (!plain)
                free(c.args);

        if (fflush(stdout) != 0 && r >= 0)
                r = log_error(-errno, "Cannot write to standard output");

        return r < 0 ? EXIT_FAILURE : r;
}
