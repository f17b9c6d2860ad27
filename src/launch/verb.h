/* SPDX-License-Identifier: MIT */
#pragma once

/* A command of claude-profile: its row, what it was called with, and the one parser for all of them. */

#include <limits.h>

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/settings.h"

#define EXIT_USAGE 2
#define ANY_NUMBER UINT_MAX

typedef struct Option {
        char letter;          /* 0: none */
        const char *name;     /* without dashes; NULL ends a table */
        const char *argument; /* what its argument is called; NULL: it takes none */
        const char *help;
} Option;

typedef enum VerbFlags {
        VERB_PROFILE = 1 << 0, /* the first argument, if any, is a profile's name */
        VERB_OPTIONS_FIRST =
                        1 << 1, /* our options end at the first argument: the rest is another program's */
        VERB_FOREIGN_OPTIONS = 1 << 2, /* … and at the first option that is not ours */
} VerbFlags;

typedef struct Command Command;

typedef struct Verb {
        const char *name;
        const char *arguments; /* "NAME [DIRECTORY]" */
        unsigned min, max;     /* how many of them; ANY_NUMBER: no limit */
        VerbFlags flags;
        const Option *options; /* NULL: none but --help */
        const char *help;      /* half a line */
        const char *details;   /* a paragraph for --help of the command; NULL: none */
        int (*run)(const Command *c);
} Verb;

typedef struct GivenOption {
        const Option *option;
        const char *value;
} GivenOption;

struct Command {
        const Verb *verb;
        const Dirs *dirs;
        const Settings *settings; /* in force for the profile, with VERB_PROFILE */
        char **args;              /* into argv; ended by NULL */
        GivenOption *given;
        size_t n_given;
};

/* Parses `argv` (what follows the command's name; ended by NULL) and runs the command; `plain`: there are no
 * options of ours in it. A handler returns an exit status, or negative errno, having said why. Returns the
 * exit status of the program. */
int verb_call(const Verb *verb, char **argv, bool plain);

/* The option that `word` ("--name", "--name=value", "-n") is, --help included, or NULL; `*ret_value`: what is behind "=", or NULL. */
const Option *verb_find_option(const Verb *verb, const char *word, const char **ret_value);

extern const Option verb_help_option;

bool command_has(const Command *c, const char *option);

/* The value of the last such option, or NULL. */
const char *command_value(const Command *c, const char *option);

/* The values of all such options, in order, as a new vector of copies; NULL when there are none. 0 or
 * -ENOMEM. */
int command_values(const Command *c, const char *option, char ***ret);

/* Says what is wrong with how the command was called, and where its help is. Returns EXIT_USAGE. */
int usage_error(const Verb *verb, const char *format, ...) _printf_(2, 3);
