/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/env-file.h"
#include "shared/profile.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* Far beyond what execve() takes, and small enough that comparing each with each costs nothing. */
#define VARIABLES_MAX 4096
#define WARNINGS_MAX 100

#define KEPT_HASH "the value goes on to the end of the line, from \" #\" too; quote it if it shall"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS "0123456789"

typedef struct Variable {
        const char *name;
        size_t name_n;
        unsigned line;
} Variable;

typedef struct Parser {
        unsigned line;
        char **env;
        Variable *variables; /* env[i] is variables[i] */
        size_t n, env_allocated, variables_allocated;
        char **warnings;
        size_t n_warnings;
        char *error;
} Parser;

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static const char *skip_blanks(const char *p, const char *end) {
        while (p < end && is_blank(*p))
                p++;
        return p;
}

static const char *trim_end(const char *start, const char *end) {
        while (end > start && is_blank(end[-1]))
                end--;
        return end;
}

bool env_name_is_valid(const char *name, size_t n) {
        if (n == 0 || !strchr(LETTERS, name[0]))
                return false;

        for (size_t i = 0; i < n; i++)
                if (name[i] == '\0' || !strchr(LETTERS DIGITS, name[i]))
                        return false;

        return true;
}

static bool name_has_prefix(const char *name, size_t n, const char *prefix) {
        return n >= strlen(prefix) && memcmp(name, prefix, strlen(prefix)) == 0;
}

const char *env_name_reserved(const char *name, size_t n) {
        if (n == STRLEN("CLAUDE_CONFIG_DIR") && name_has_prefix(name, n, "CLAUDE_CONFIG_DIR"))
                return "names the profile itself";
        if (name_has_prefix(name, n, "CLAUDE_SANDBOX_"))
                return "is between claude-profile and its sandboxes";

        return NULL;
}

/* The value's quotes: which, where it ends, what follows. */
static void parse_quoted(EnvLine *l, const char *v) {
        const char quote = *v, *p;

        l->value = p = v + 1;
        while (p < l->end && *p != quote)
                p += quote == '"' && *p == '\\' && p + 1 < l->end ? 2 : 1;

        if (p >= l->end) {
                l->quote = ENV_QUOTE_OPEN;
                return;
        }

        l->value_n = (size_t) (p - l->value);
        l->tail = p + 1;
        l->quote = quote == '"' ? ENV_QUOTE_DOUBLE : ENV_QUOTE_SINGLE;

        p = skip_blanks(l->tail, l->end);
        if (p < l->end && *p != '#')
                l->quote = ENV_QUOTE_TRAILING;
}

static void parse_unquoted(EnvLine *l, const char *from, const char *v) {
        const char *end = trim_end(v, l->end);

        l->value = v;
        l->value_n = (size_t) (end - v);
        l->tail = end;

        for (const char *p = from + 1; p < end; p++)
                if (*p == '#' && is_blank(p[-1]))
                        l->hash = true;
}

void env_line_parse(const char *p, const char *end, EnvLine *ret) {
        const char *newline = memchr(p, '\n', (size_t) (end - p)), *equals, *v;
        EnvLine l = { .start = p, .end = newline ?: end, .next = newline ? newline + 1 : end };

        if (l.end > l.start && l.end[-1] == '\r')
                l.end--;

        p = skip_blanks(p, l.end);
        if (p == l.end || *p == '#') {
                l.kind = ENV_LINE_BLANK;
                *ret = l;
                return;
        }

        if (name_has_prefix(p, (size_t) (l.end - p), "export")) {
                const char *q = skip_blanks(p + STRLEN("export"), l.end);

                if (q > p + STRLEN("export") && q < l.end && *q != '=')
                        p = q;
        }

        l.kind = ENV_LINE_ODD;
        equals = memchr(p, '=', (size_t) (l.end - p));
        if (equals) {
                l.name = p;
                l.name_n = (size_t) (trim_end(p, equals) - p);

                v = skip_blanks(equals + 1, l.end);
                if (v < l.end && (*v == '"' || *v == '\''))
                        parse_quoted(&l, v);
                else
                        parse_unquoted(&l, equals + 1, v);

                if (env_name_is_valid(l.name, l.name_n))
                        l.kind = ENV_LINE_ASSIGNMENT;
        }

        *ret = l;
}

static int warn(Parser *parser, const EnvLine *l, const char *text) {
        if (parser->n_warnings > WARNINGS_MAX)
                return 0;
        if (parser->n_warnings++ == WARNINGS_MAX)
                return strv_addf(&parser->warnings, "line %u and on: more of the kind", parser->line);

        /* What stands before the "=" of an odd line may be part of a secret. */
        if (l->kind == ENV_LINE_ODD)
                return strv_addf(&parser->warnings, "line %u: %s", parser->line, text);

        return strv_addf(&parser->warnings, "line %u: %.*s: %s", parser->line, (int) l->name_n, l->name,
                        text);
}

static int refuse(Parser *parser, const EnvLine *l, const char *text) {
        int r;

        r = asprintf_to(&parser->error, "line %u: %.*s: %s", parser->line, (int) l->name_n, l->name, text);
        return r < 0 ? r : -EBADMSG;
}

static int refuse_size(Parser *parser, const EnvLine *l, size_t size) {
        _cleanup_free_ char *text = NULL;

        int r;

        r = asprintf_to(&text, "takes %zu bytes, but at most %zu fit, name included", size, ENV_ENTRY_MAX);
        return r < 0 ? r : refuse(parser, l, text);
}

/* "NAME=value" with the escapes of double quotes undone. */
static char *make_entry(const EnvLine *l) {
        const char *end = l->value + l->value_n;
        char *s, *q;

        s = q = malloc(l->name_n + 1 + l->value_n + 1);
        if (!s)
                return NULL;

        q = mempcpy(q, l->name, l->name_n);
        *q++ = '=';
        for (const char *p = l->value; p < end; p++) {
                if (l->quote == ENV_QUOTE_DOUBLE && *p == '\\' && p + 1 < end && strchr("\"\\n", p[1]))
                        *q++ = *++p == 'n' ? '\n' : *p;
                else
                        *q++ = *p;
        }
        *q = '\0';

        return s;
}

static size_t find_variable(const Parser *parser, const EnvLine *l) {
        size_t i = 0;

        while (i < parser->n && !(parser->variables[i].name_n == l->name_n &&
                                                memcmp(parser->variables[i].name, l->name, l->name_n) == 0))
                i++;
        return i;
}

static int make_room(Parser *parser) {
        int r;

        r = grow(&parser->env, &parser->env_allocated, parser->n + 2, sizeof(char *));
        if (r < 0)
                return r;

        return grow(&parser->variables, &parser->variables_allocated, parser->n + 1, sizeof(Variable));
}

/* Puts the entry at the end, or in the place of an earlier one of the same name. Owns `entry`. */
static int put(Parser *parser, const EnvLine *l, char *entry) {
        _cleanup_free_ char *owned = entry;
        const size_t i = find_variable(parser, l);
        char text[64];
        int r;

        if (i >= VARIABLES_MAX)
                return refuse(parser, l, "too many variables");

        if (i < parser->n) {
                (void) snprintf(text, sizeof(text), "already set in line %u; the last one counts",
                                parser->variables[i].line);
                r = warn(parser, l, text);
                if (r < 0)
                        return r;
                free(parser->env[i]);
        } else {
                r = make_room(parser);
                if (r < 0)
                        return r;
                parser->env[++parser->n] = NULL;
        }

        parser->env[i] = TAKE_PTR(owned);
        parser->variables[i] = (Variable) { .name = l->name, .name_n = l->name_n, .line = parser->line };
        return 0;
}

static int parse_assignment(Parser *parser, const EnvLine *l) {
        const char *reserved;
        char *entry;
        size_t size;
        int r;

        reserved = env_name_reserved(l->name, l->name_n);
        if (reserved) {
                _cleanup_free_ char *text = NULL;

                r = asprintf_to(&text, "cannot be set here: it %s", reserved);
                return r < 0 ? r : refuse(parser, l, text);
        }

        if (l->quote == ENV_QUOTE_OPEN)
                return refuse(parser, l, "the quote at the start of the value is not closed on this line");
        if (l->quote == ENV_QUOTE_TRAILING)
                return refuse(parser, l, "only a comment may follow the closing quote");
        if (name_has_prefix(l->name, l->name_n, "CLAUDE_PROFILE_"))
                return warn(parser, l, "is a setting of claude-profile and has no effect here; left out");

        if (l->hash) {
                r = warn(parser, l, KEPT_HASH);
                if (r < 0)
                        return r;
        }

        entry = make_entry(l);
        if (!entry)
                return -ENOMEM;

        size = strlen(entry) + 1;
        if (size > ENV_ENTRY_MAX) {
                free(entry);
                return refuse_size(parser, l, size);
        }

        return put(parser, l, entry);
}

static int parse_line(Parser *parser, const EnvLine *l) {
        if (!utf8_is_valid(l->start, (size_t) (l->end - l->start))) {
                if (asprintf_to(&parser->error, "line %u: not UTF-8 text", parser->line) < 0)
                        return -ENOMEM;
                return -EBADMSG;
        }

        switch (l->kind) {
        case ENV_LINE_ASSIGNMENT:
                return parse_assignment(parser, l);
        case ENV_LINE_ODD:
                return warn(parser, l,
                                l->name ? "no name before \"=\", left out" : "no assignment, left out");
        default:
                return 0;
        }
}

int env_parse(const char *text, size_t n, char ***ret_env, char ***ret_warnings, char **ret_error) {
        const char *p = text, *end = text + n;
        Parser parser = { 0 };
        int r = 0;

        if (name_has_prefix(p, n, BYTE_ORDER_MARK))
                p += STRLEN(BYTE_ORDER_MARK);

        while (r >= 0 && p < end) {
                EnvLine l;

                parser.line++;
                env_line_parse(p, end, &l);
                r = parse_line(&parser, &l);
                p = l.next;
        }

        if (r >= 0 && !parser.env) {
                parser.env = new0(char *, 1);
                if (!parser.env)
                        r = -ENOMEM;
        }

        free(parser.variables);
        if (r < 0) {
                strv_free(parser.env);
                strv_free(parser.warnings);
                *ret_error = parser.error;
                return r;
        }

        *ret_env = parser.env;
        *ret_warnings = parser.warnings;
        return 0;
}

static const char *describe_read_error(int error) {
        switch (error) {
        case -ELOOP:
                return "is a link, and a sandbox could have made it: put a regular file there";
        case -ENOTREG:
                return "is not a regular file";
        case -EFBIG:
                return "is larger than 4 MiB";
        default:
                return strerror(-error);
        }
}

static int prefix_all(char **v, const char *path) {
        for (char **s = v; s && *s; s++) {
                char *with;

                if (asprintf_to(&with, "%s: %s", path, *s) < 0)
                        return -ENOMEM;
                free(*s);
                *s = with;
        }

        return 0;
}

static int load_and_parse(int profile_fd, char ***ret_env, char ***ret_warnings, char **ret_error) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r;

        r = io_read_file_at(profile_fd, PROFILE_ENV_FILE, ENV_FILE_MAX, &text, &n);
        if (r >= 0 || r == -ENOENT)
                return env_parse(text ?: "", n, ret_env, ret_warnings, ret_error);

        *ret_error = strdup(describe_read_error(r));
        return *ret_error ? r : -ENOMEM;
}

int env_file_load(int profile_fd, const char *path, char ***ret_env, char ***ret_warnings,
                char **ret_error) {
        _cleanup_strv_ char **env = NULL, **warnings = NULL;
        _cleanup_free_ char *error = NULL;
        int r;

        *ret_error = NULL;
        r = load_and_parse(profile_fd, &env, &warnings, &error);
        if (r < 0) {
                if (error && asprintf_to(ret_error, "%s: %s", path, error) < 0)
                        return -ENOMEM;
                return r;
        }

        r = prefix_all(warnings, path);
        if (r < 0)
                return r;

        *ret_env = TAKE_PTR(env);
        *ret_warnings = TAKE_PTR(warnings);
        return 0;
}
