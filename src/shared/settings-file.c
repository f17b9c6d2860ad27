/* SPDX-License-Identifier: MIT */

#include "basic/str.h"
#include "shared/settings-file.h"

#define BLANKS " \t\r\v\f"
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static const char *const kind_table[] = {
        [INI_ASSIGNMENT] = "an assignment",
        [INI_BAD_SECTION] = "no section header: the closing bracket is missing",
        [INI_NO_ASSIGNMENT] = "no assignment",
        [INI_CONTINUED] = "a line cannot be continued with a backslash",
};
static_assert(ELEMENTSOF(kind_table) == _INI_KIND_MAX, "a name for each kind");

const char *ini_kind_to_string(IniKind kind) {
        return kind_table[kind];
}

/* Cuts blanks off both ends, in place. */
static char *trim(char *s) {
        size_t n;

        s += strspn(s, BLANKS);
        for (n = strlen(s); n > 0 && strchr(BLANKS, s[n - 1]); n--)
                ;
        s[n] = '\0';
        return s;
}

void ini_reader_init(IniReader *reader, char *text) {
        *reader = (IniReader) {
                .rest = text + (str_after_prefix(text, BYTE_ORDER_MARK) ? STRLEN(BYTE_ORDER_MARK) : 0),
                .section = "",
        };
}

static void parse_assignment(char *line, IniLine *l) {
        char *equals;

        l->key = line;
        l->value = "";

        equals = strchr(line, '=');
        if (!equals || equals == line) {
                l->kind = INI_NO_ASSIGNMENT;
                return;
        }

        *equals = '\0';
        l->key = trim(line);
        l->value = trim(equals + 1);
        l->kind = str_has_suffix(l->value, "\\") ? INI_CONTINUED : INI_ASSIGNMENT;
}

bool ini_reader_next(IniReader *reader, IniLine *ret) {
        while (*reader->rest) {
                IniLine l = { .section = reader->section, .number = ++reader->number };
                char *line, *end;

                line = reader->rest;
                end = strchrnul(line, '\n');
                reader->rest = *end ? end + 1 : end;
                *end = '\0';

                line = trim(line);
                if (*line == '\0' || *line == '#' || *line == ';')
                        continue;

                if (*line == '[') {
                        size_t n = strlen(line);

                        if (line[n - 1] == ']') {
                                line[n - 1] = '\0';
                                reader->section = trim(line + 1);
                                continue;
                        }
                        l.kind = INI_BAD_SECTION;
                        l.key = line;
                        l.value = "";
                        reader->section = "";
                } else
                        parse_assignment(line, &l);

                *ret = l;
                return true;
        }

        return false;
}
