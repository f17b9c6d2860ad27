/* SPDX-License-Identifier: MIT */
#pragma once

/* Reading lines of a file in systemd's INI style: [Section], Key=value, comments that start with "#" or ";".
 * Pure: text in, assignments and remarks out. A byte-order mark, CRLF and blanks around keys and values do
 * not matter. */

#include "basic/macro.h"

typedef enum IniKind {
        INI_ASSIGNMENT,
        INI_BAD_SECTION,   /* "[" without "]" at the end */
        INI_NO_ASSIGNMENT, /* no "=", or nothing before it */
        INI_CONTINUED,     /* an assignment that ends in a backslash: lines cannot be continued */
        _INI_KIND_MAX,
} IniKind;

typedef struct IniLine {
        IniKind kind;
        unsigned number;
        const char *section; /* "" before the first one */
        const char *key;     /* of an assignment, else what the line says */
        const char *value;
} IniLine;

typedef struct IniReader {
        char *rest;
        unsigned number;
        const char *section;
} IniReader;

/* `text` is cut up in place and must stay as long as lines of it are used. */
void ini_reader_init(IniReader *reader, char *text);

/* The next line that is not blank, a comment or a good section header. False at the end. */
bool ini_reader_next(IniReader *reader, IniLine *ret);

/* What is wrong with a line that is no assignment, for a message. */
const char *ini_kind_to_string(IniKind kind);
