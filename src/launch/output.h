/* SPDX-License-Identifier: MIT */
#pragma once

/* What commands print on standard output: for people on a terminal, in columns and colour that fit it; JSON for scripts. Text that is
 * given here is printed as it is: what somebody else chose goes through str_escape() first. */

#include "shared/json-object.h"

/* Escape sequences, or empty strings: in a pipe, with NO_COLOR, on a terminal that cannot. */
typedef struct Style {
        const char *bold, *red, *green, *yellow, *reset;
} Style;

Style output_style(void);

/* The terminal's columns; 80 where that cannot be told. */
size_t output_width(void);

/* How many columns text takes: one for each character, whatever its bytes. */
size_t text_width(const char *s);

/* The end of `s` that fits into `width` columns, behind a "…" if that is not all. The caller frees; NULL when out of memory. */
char *text_tail(const char *s, size_t width);

/* Prints words, as many in a line as fit, from `column` on; further lines begin with `indent` blanks. No line end follows. */
void output_wrapped(const char *text, size_t column, size_t indent);

/* Prints the value, indented for people; owns it. 0 or negative errno, said; -ENOMEM for NULL. */
int output_json(Json *value);

#define TABLE_COLUMNS_MAX 8

typedef struct TableColumn {
        const char *title; /* NULL ends the list */
        bool right;        /* numbers */
        bool cut;          /* may lose its beginning so that the line fits; the last column only */
} TableColumn;

typedef struct TableRow {
        char *cells[TABLE_COLUMNS_MAX];        /* the table's; NULL: "-" */
        const char *styles[TABLE_COLUMNS_MAX]; /* of Style, or NULL */
        char *note;                            /* a further line, below the second column; or NULL */
} TableRow;

typedef struct Table {
        const TableColumn *columns;
        TableRow *rows;
        size_t n, allocated;
} Table;

/* A new row, empty. NULL when out of memory. */
TableRow *table_add(Table *t);
void table_print(const Table *t);
void table_clear(Table *t);
#define _cleanup_table_ _cleanup_(table_clear)
