/* SPDX-License-Identifier: MIT */
#pragma once

/* The profile's .env: KEY=VALUE lines. env_parse() is pure: text in, variables and remarks out; the file
 * itself is never handed to anybody. Rules: cases E01-E08 (claude-profile(1) has them for users). */

#include "basic/macro.h"

/* What one "KEY=VALUE" may take, its NUL included: the kernel's MAX_ARG_STRLEN. */
#define ENV_ENTRY_MAX ((size_t) 131072)
#define ENV_FILE_MAX (4 * MIB)

/* Parses `n` bytes. `*ret_env` are "KEY=VALUE" strings in the order of the file, each key once.
 * `*ret_warnings` are sentences for the user that give line numbers and keys, never values. Both are the
 * caller's. A text that must stop the launch: -EBADMSG and one sentence in `*ret_error`, without full stop,
 * that says line and key, never the value. */
int env_parse(const char *text, size_t n, char ***ret_env, char ***ret_warnings, char **ret_error);

/* Reads `.env` of the profile directory `profile_fd` and parses it; no such file: an empty list. A link is
 * refused. `path` is the file's name, with which all sentences start. Errors as above, each with a sentence
 * (NULL when out of memory). */
int env_file_load(int profile_fd, const char *path, char ***ret_env, char ***ret_warnings, char **ret_error);

/* A name that the environment can hold: letters, digits and "_", no digit first. */
bool env_name_is_valid(const char *name, size_t n);

/* Whether a profile's variables may not set `name`, and why: "CLAUDE_CONFIG_DIR" and the like. NULL: they
 * may. */
const char *env_name_reserved(const char *name, size_t n);

/* One line, taken apart; all pointers are into the text. */
typedef enum EnvLineKind {
        ENV_LINE_BLANK, /* nothing, or a comment */
        ENV_LINE_ASSIGNMENT,
        ENV_LINE_ODD, /* no assignment, or its name is none */
} EnvLineKind;

typedef enum EnvQuote {
        ENV_QUOTE_NONE,
        ENV_QUOTE_SINGLE,
        ENV_QUOTE_DOUBLE,
        ENV_QUOTE_OPEN,     /* the quote at the start of the value is not closed */
        ENV_QUOTE_TRAILING, /* something that is no comment follows the closing one */
} EnvQuote;

typedef struct EnvLine {
        EnvLineKind kind;
        EnvQuote quote;
        const char *start, *end; /* the line without its line end */
        const char *next;        /* behind the line end */
        const char *name;
        size_t name_n;
        const char *value; /* between the quotes, escapes as written */
        size_t value_n;
        const char *tail; /* what follows the closing quote, up to `end` */
        bool hash;        /* not quoted, and holds a "#" behind white space */
} EnvLine;

/* Takes the line at `p` apart, for the parser and for whoever changes one line of the text. */
void env_line_parse(const char *p, const char *end, EnvLine *ret);
