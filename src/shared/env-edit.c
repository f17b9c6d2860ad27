/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/env-edit.h"
#include "shared/env-file.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

typedef struct Editor {
        FILE *out;
        const char *line_end; /* what lines of this text end in */
        bool open;            /* the last line has no end yet */
} Editor;

static bool needs_quotes(const char *value) {
        static const char blanks[] = " \t\r\v\f";
        size_t n = strlen(value);

        if (n == 0)
                return false;
        if (strchr(blanks, value[0]) || strchr(blanks, value[n - 1]) || strchr("\"'", value[0]) ||
                        strchr(value, '\n'))
                return true;

        for (const char *p = strchr(value, '#'); p; p = strchr(p + 1, '#'))
                if (p == value || strchr(blanks, p[-1]))
                        return true;

        return false;
}

static char *quote_always(const char *value) {
        char *s, *q;

        s = q = malloc(2 * strlen(value) + 3);
        if (!s)
                return NULL;

        *q++ = '"';
        for (; *value; value++) {
                if (strchr("\"\\\n", *value))
                        *q++ = '\\';
                *q++ = *value == '\n' ? 'n' : *value;
        }
        *q++ = '"';
        *q = '\0';

        return s;
}

char *env_quote(const char *value) {
        return needs_quotes(value) ? quote_always(value) : strdup(value);
}

static bool line_assigns(const EnvLine *l, const char *key, size_t n) {
        return l->kind == ENV_LINE_ASSIGNMENT && l->name_n == n && memcmp(l->name, key, n) == 0;
}

static const char *text_start(const char *text, size_t n) {
        const size_t k = STRLEN(BYTE_ORDER_MARK);

        return n >= k && memcmp(text, BYTE_ORDER_MARK, k) == 0 ? text + k : text;
}

/* Whether a line from `p` on assigns the key of `key`, which is a name or "NAME=value". */
static bool assigned_from(const char *p, const char *end, const char *key) {
        const size_t n = strcspn(key, "=");

        while (p < end) {
                EnvLine l;

                env_line_parse(p, end, &l);
                if (line_assigns(&l, key, n))
                        return true;
                p = l.next;
        }

        return false;
}

bool env_text_has(const char *text, size_t n, const char *key) {
        return assigned_from(text_start(text, n), text + n, key);
}

/* Whether nothing ends the line: it is the last one. A carriage return alone does not. */
static bool line_is_open(const EnvLine *l) {
        return l->next[-1] != '\n';
}

/* The last entry of `v` for the line's key, or NULL. */
static const char *find_entry(char *const *v, const EnvLine *l) {
        const char *found = NULL;

        STRV_FOREACH(s, v)
                if (line_assigns(l, *s, strcspn(*s, "=")))
                        found = *s;

        return found;
}

static void write_bytes(Editor *e, const char *from, const char *to) {
        (void) fwrite(from, 1, (size_t) (to - from), e->out);
}

/* The line with another value: what stands before the name and a comment behind closing quotes are kept. */
static int write_changed(Editor *e, const EnvLine *l, const char *value) {
        const bool quoted_before = l->quote == ENV_QUOTE_SINGLE || l->quote == ENV_QUOTE_DOUBLE;
        const bool has_comment = quoted_before && l->tail < l->end;
        _cleanup_free_ char *quoted = NULL;

        quoted = has_comment ? quote_always(value) : env_quote(value);
        if (!quoted)
                return -ENOMEM;

        write_bytes(e, l->start, l->name + l->name_n);
        (void) fprintf(e->out, "=%s", quoted);
        if (has_comment)
                write_bytes(e, l->tail, l->end);
        write_bytes(e, l->end, l->next);
        return 0;
}

static int write_line(Editor *e, const EnvLine *l, const char *end, char *const *set, char *const *unset) {
        const char *entry;

        if (l->kind == ENV_LINE_ASSIGNMENT) {
                entry = find_entry(set, l);
                if (entry) {
                        if (assigned_from(l->next, end, entry))
                                return 0;
                        e->open = line_is_open(l);
                        return write_changed(e, l, entry + strcspn(entry, "=") + 1);
                }
                if (find_entry(unset, l))
                        return 0;
        }

        /* A mark that was in the middle of the text, and meant nothing there, does not become the first thing in it. */
        if (ftell(e->out) == 0 && text_start(l->start, (size_t) (l->end - l->start)) != l->start)
                (void) fputs(e->line_end, e->out);
        e->open = line_is_open(l);
        write_bytes(e, l->start, l->next);
        return 0;
}

/* Whether a later entry of the vector has the same key. */
static bool set_again(char *const *entry) {
        const size_t n = strcspn(*entry, "=") + 1;

        STRV_FOREACH(s, entry + 1)
                if (strncmp(*s, *entry, n) == 0)
                        return true;

        return false;
}

static int append_new(Editor *e, const char *text, const char *end, char *const *set) {
        STRV_FOREACH(s, set) {
                const size_t n = strcspn(*s, "=");
                _cleanup_free_ char *quoted = NULL;

                if (set_again(s) || assigned_from(text, end, *s))
                        continue;

                quoted = env_quote(*s + n + 1);
                if (!quoted)
                        return -ENOMEM;

                (void) fprintf(e->out, "%s%.*s=%s%s", e->open ? e->line_end : "", (int) n, *s, quoted,
                                e->line_end);
                e->open = false;
        }

        return 0;
}

static int edit(Editor *e, const char *text, size_t n, char *const *set, char *const *unset) {
        const char *start = text_start(text, n), *end = text + n;
        int r = 0;

        write_bytes(e, text, start);

        for (const char *p = start; p < end && r >= 0;) {
                EnvLine l;

                env_line_parse(p, end, &l);
                if (p == start)
                        e->line_end = l.next - l.end == 2 ? "\r\n" : "\n";
                r = write_line(e, &l, end, set, unset);
                p = l.next;
        }

        return r < 0 ? r : append_new(e, start, end, set);
}

int env_edit(const char *text, size_t n, char *const *set, char *const *unset, char **ret, size_t *ret_n) {
        Editor e = { .line_end = "\n" };
        char *s = NULL;
        size_t size = 0;
        int r;

        e.out = open_memstream(&s, &size);
        if (!e.out)
                return -ENOMEM;

        r = edit(&e, text, n, set, unset);
        if (fclose(e.out) != 0 && r >= 0)
                r = -ENOMEM;
        if (r < 0) {
                free(s);
                return r;
        }

        *ret = s;
        *ret_n = size;
        return 0;
}
