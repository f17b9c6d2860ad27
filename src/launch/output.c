/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "launch/output.h"

#define WIDTH_DEFAULT 80
#define WIDTH_MIN 40 /* below that nothing would fit anyway */
#define GAP 2

Style output_style(void) {
        const char *terminal = getenv("TERM");

        if (!isatty(STDOUT_FILENO) || !str_is_empty(getenv("NO_COLOR")) || (terminal && streq(terminal, "dumb")))
                return (Style) { "", "", "", "", "" };

        return (Style) {
                .bold = "\x1b[1m",
                .red = "\x1b[31m",
                .green = "\x1b[32m",
                .yellow = "\x1b[33m",
                .reset = "\x1b[0m",
        };
}

size_t output_width(void) {
        struct winsize size;

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
                return WIDTH_DEFAULT;

        return MAX(size.ws_col, WIDTH_MIN);
}

static bool is_first_byte(char c) {
        return (c & 0xc0) != 0x80;
}

static size_t width_of(const char *s, size_t n) {
        size_t width = 0;

        for (size_t i = 0; i < n; i++)
                width += is_first_byte(s[i]);

        return width;
}

size_t text_width(const char *s) {
        return width_of(s, strlen(s));
}

char *text_tail(const char *s, size_t width) {
        size_t too_many = text_width(s);
        char *tail;

        if (too_many <= width)
                return strdup(s);

        /* One more goes for the "…". */
        for (too_many -= MAX(width, (size_t) 1) - 1; too_many > 0 || !is_first_byte(*s); s++)
                too_many -= is_first_byte(*s);

        return asprintf_to(&tail, "…%s", s) < 0 ? NULL : tail;
}

void output_wrapped(const char *text, size_t column, size_t indent) {
        const size_t width = output_width() - 1;
        bool first = true;

        while (*text) {
                const size_t n = strcspn(text, " "), columns = width_of(text, n);

                if (!first && column + 1 + columns > width) {
                        (void) printf("\n%*s", (int) indent, "");
                        column = indent;
                        first = true;
                }
                (void) printf("%s%.*s", first ? "" : " ", (int) n, text);
                column += columns + !first;
                first = false;
                text += n + (text[n] == ' ');
        }
}

int output_json(Json *value) {
        _cleanup_json_ Json *v = value;
        const char *text;

        text = v ? json_object_to_json_string_ext(v, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                                       JSON_C_TO_STRING_NOSLASHESCAPE)
                 : NULL;
        if (!text)
                return log_oom();

        (void) puts(text);
        return 0;
}

TableRow *table_add(Table *t) {
        if (grow(&t->rows, &t->allocated, t->n + 1, sizeof(TableRow)) < 0)
                return NULL;

        t->rows[t->n] = (TableRow) { .note = NULL };
        return &t->rows[t->n++];
}

void table_clear(Table *t) {
        for (size_t i = 0; i < t->n; i++) {
                for (size_t k = 0; k < TABLE_COLUMNS_MAX; k++)
                        free(t->rows[i].cells[k]);
                free(t->rows[i].note);
        }
        free(t->rows);
        *t = (Table) { .columns = t->columns };
}

/* One cell, padded unless it is the last one. */
static void print_cell(const char *text, const char *style, const char *reset, size_t width, bool right, bool last) {
        const size_t columns = text_width(text);
        const int padding = (int) (width > columns ? width - columns : 0);

        (void) printf("%*s%s%s%s%*s", right ? padding : 0, "", style ?: "", text, style ? reset : "", last || right ? 0 : padding, "");
        (void) printf("%*s", last ? 0 : GAP, "");
}

static void print_row(const Table *t, const TableRow *row, const size_t *widths, size_t n, const char *reset) {
        const size_t room = output_width();
        size_t column = 0;

        for (size_t k = 0; k < n; k++) {
                const char *text = row->cells[k] ?: "-";
                _cleanup_free_ char *tail = NULL;

                if (t->columns[k].cut && room > column)
                        tail = text_tail(text, room - column);
                print_cell(tail ?: text, row->styles[k], reset, widths[k], t->columns[k].right, k + 1 == n);
                column += widths[k] + GAP;
        }
        (void) putchar('\n');

        if (row->note) {
                (void) printf("%*s", (int) (widths[0] + GAP), "");
                output_wrapped(row->note, widths[0] + GAP, widths[0] + GAP);
                (void) putchar('\n');
        }
}

void table_print(const Table *t) {
        const Style style = output_style();
        size_t widths[TABLE_COLUMNS_MAX], n = 0;

        for (; n < TABLE_COLUMNS_MAX && t->columns[n].title; n++) {
                widths[n] = text_width(t->columns[n].title);
                for (size_t i = 0; i < t->n; i++)
                        widths[n] = MAX(widths[n], text_width(t->rows[i].cells[n] ?: "-"));
        }

        (void) printf("%s", style.bold);
        for (size_t k = 0; k < n; k++)
                print_cell(t->columns[k].title, NULL, "", widths[k], t->columns[k].right, k + 1 == n);
        (void) printf("%s\n", style.reset);

        for (size_t i = 0; i < t->n; i++)
                print_row(t, &t->rows[i], widths, n, style.reset);
}
