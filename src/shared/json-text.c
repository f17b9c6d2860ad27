/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "shared/json-text.h"

typedef struct Parser {
        const char *text;
        size_t n, at;
        size_t nodes;
        const char *error; /* static */
} Parser;

static int fail(Parser *p, const char *error) {
        p->error = error;
        return -EBADMSG;
}

static void skip_blank(Parser *p) {
        while (p->at < p->n && memchr(" \t\r\n", p->text[p->at], 4))
                p->at++;
}

static bool next_is(const Parser *p, char c) {
        return p->at < p->n && p->text[p->at] == c;
}

static JsonNode *node_free(JsonNode *node) {
        /* Not recursive in depth's sense only: JSON_DEPTH_MAX bounds it. */
        if (!node)
                return NULL;
        for (JsonNode *c = node->children; c;) {
                JsonNode *next = c->next;

                node_free(c);
                c = next;
        }
        node_free(node->key);
        free(node);
        return NULL;
}
DEFINE_CLEANUP(JsonNode *, node_free);
#define _cleanup_node_ _cleanup_(node_freep)

static int hex_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four digits behind "\u", or -1. */
static int unit_at(const char *s, const char *end) {
        int unit = 0;

        if (end - s < 4)
                return -1;
        for (int i = 0; i < 4; i++) {
                int digit = hex_value(s[i]);

                if (digit < 0)
                        return -1;
                unit = unit << 4 | digit;
        }

        return unit;
}

static int parse_escape(Parser *p) {
        p->at++;
        if (p->at >= p->n)
                return fail(p, "the string does not end");

        if (p->text[p->at] == 'u') {
                if (unit_at(p->text + p->at + 1, p->text + p->n) < 0)
                        return fail(p, "\\u wants four hexadecimal digits");
                p->at += 5;
                return 0;
        }
        if (!memchr("\"\\/bfnrt", p->text[p->at], 8))
                return fail(p, "there is no such escape");
        p->at++;
        return 0;
}

static int parse_string(Parser *p, JsonNode *node) {
        size_t first = ++p->at;

        node->type = JSON_STRING;
        while (!next_is(p, '"')) {
                int r;

                if (p->at >= p->n)
                        return fail(p, "the string does not end");
                if ((unsigned char) p->text[p->at] < 0x20)
                        return fail(p, p->text[p->at] == '\0' ? "a zero byte" : "a control character stands in a string");
                if (p->text[p->at] != '\\') {
                        p->at++;
                        continue;
                }
                r = parse_escape(p);
                if (r < 0)
                        return r;
        }
        if (p->at > first && !utf8_is_valid(p->text + first, p->at - first))
                return fail(p, "the string before is not UTF-8");

        p->at++;
        return 0;
}

/* number = [-] int [. digits] [e [+-] digits] */
static int parse_number(Parser *p) {
        size_t digits;

        if (next_is(p, '-'))
                p->at++;
        if (next_is(p, '0'))
                p->at++;
        else {
                for (digits = 0; p->at < p->n && p->text[p->at] >= '0' && p->text[p->at] <= '9'; digits++)
                        p->at++;
                if (digits == 0)
                        return fail(p, "a value is missing");
        }
        for (unsigned part = 0; part < 2; part++) {
                if (part == 0 ? !next_is(p, '.') : !next_is(p, 'e') && !next_is(p, 'E'))
                        continue;
                p->at++;
                if (part == 1 && (next_is(p, '+') || next_is(p, '-')))
                        p->at++;
                for (digits = 0; p->at < p->n && p->text[p->at] >= '0' && p->text[p->at] <= '9'; digits++)
                        p->at++;
                if (digits == 0)
                        return fail(p, "the number does not end");
        }

        return 0;
}

static int parse_other(Parser *p, JsonNode *node) {
        static const char *const words[] = { "true", "false", "null" };

        node->type = JSON_OTHER;
        for (size_t i = 0; i < ELEMENTSOF(words); i++) {
                size_t n = strlen(words[i]);

                if (p->n - p->at >= n && memcmp(p->text + p->at, words[i], n) == 0) {
                        p->at += n;
                        return 0;
                }
        }

        return parse_number(p);
}

static void adopt(JsonNode *parent, JsonNode *child) {
        child->parent = parent;
        child->previous = parent->last;
        if (parent->last)
                parent->last->next = child;
        else
                parent->children = child;
        parent->last = child;
}

static int new_node(Parser *p, JsonNode **ret) {
        JsonNode *node;

        if (p->nodes >= JSON_NODES_MAX)
                return fail(p, "too many values");
        node = new0(JsonNode, 1);
        if (!node)
                return -ENOMEM;

        p->nodes++;
        node->start = p->at;
        *ret = node;
        return 0;
}

static int parse_value(Parser *p, unsigned depth, JsonNode **ret);

static int parse_key(Parser *p, JsonNode **ret) {
        _cleanup_node_ JsonNode *key = NULL;
        int r;

        if (!next_is(p, '"'))
                return fail(p, "a name in double quotes is missing");
        r = new_node(p, &key);
        if (r >= 0)
                r = parse_string(p, key);
        if (r < 0)
                return r;
        key->end = p->at;

        skip_blank(p);
        if (!next_is(p, ':'))
                return fail(p, "a colon is missing");
        p->at++;

        *ret = TAKE_PTR(key);
        return 0;
}

static int parse_container(Parser *p, unsigned depth, JsonNode *node) {
        const bool object = p->text[p->at] == '{';
        const char closing = object ? '}' : ']';

        node->type = object ? JSON_OBJECT : JSON_ARRAY;
        if (depth >= JSON_DEPTH_MAX)
                return fail(p, "too many levels");
        p->at++;
        skip_blank(p);

        for (bool first = true; !next_is(p, closing) || !first; first = false) {
                _cleanup_node_ JsonNode *key = NULL;
                JsonNode *child;
                int r;

                if (!first) {
                        if (next_is(p, closing))
                                break;
                        if (!next_is(p, ','))
                                return fail(p, object ? "a comma or } is missing" : "a comma or ] is missing");
                        p->at++;
                        skip_blank(p);
                }
                r = object ? parse_key(p, &key) : 0;
                if (r >= 0)
                        r = parse_value(p, depth + 1, &child);
                if (r < 0)
                        return r;

                child->key = TAKE_PTR(key);
                adopt(node, child);
                skip_blank(p);
        }

        p->at++;
        return 0;
}

static int parse_value(Parser *p, unsigned depth, JsonNode **ret) {
        _cleanup_node_ JsonNode *node = NULL;
        int r;

        skip_blank(p);
        r = new_node(p, &node);
        if (r < 0)
                return r;

        if (next_is(p, '{') || next_is(p, '['))
                r = parse_container(p, depth, node);
        else if (next_is(p, '"'))
                r = parse_string(p, node);
        else
                r = parse_other(p, node);
        if (r < 0)
                return r;
        node->end = p->at;

        *ret = TAKE_PTR(node);
        return 0;
}

static int describe(const Parser *p, char **ret_error) {
        size_t line = 1, column = 1;

        for (size_t i = 0; i < p->at && i < p->n; i++)
                if (p->text[i] == '\n') {
                        line++;
                        column = 1;
                } else if (((unsigned char) p->text[i] & 0xc0) != 0x80) /* a character, not a byte */
                        column++;

        return asprintf_to(ret_error, "line %zu, column %zu: %s", line, column, p->error) < 0 ? -ENOMEM : -EBADMSG;
}

int json_text_parse(const char *text, size_t n, JsonText *ret, char **ret_error) {
        Parser p = { .text = text, .n = n };
        _cleanup_node_ JsonNode *root = NULL;
        int r;

        p.at = json_mark_length(text, n);
        r = parse_value(&p, 0, &root);
        skip_blank(&p);
        if (r >= 0 && p.at < n)
                r = fail(&p, "something follows the value");
        if (r < 0)
                return r == -EBADMSG ? describe(&p, ret_error) : r;

        *ret = (JsonText) { .text = text, .n = n, .root = TAKE_PTR(root) };
        return 0;
}

void json_text_clear(JsonText *t) {
        t->root = node_free(t->root);
}

/* Encodes a code point as UTF-8. A lone surrogate, which UTF-8 cannot hold, becomes U+FFFD. */
static char *put_code_point(char *q, unsigned c) {
        if (c >= 0xd800 && c <= 0xdfff)
                c = 0xfffd;
        if (c < 0x80)
                *q++ = (char) c;
        else if (c < 0x800) {
                *q++ = (char) (0xc0 | c >> 6);
                *q++ = (char) (0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
                *q++ = (char) (0xe0 | c >> 12);
                *q++ = (char) (0x80 | (c >> 6 & 0x3f));
                *q++ = (char) (0x80 | (c & 0x3f));
        } else {
                *q++ = (char) (0xf0 | c >> 18);
                *q++ = (char) (0x80 | (c >> 12 & 0x3f));
                *q++ = (char) (0x80 | (c >> 6 & 0x3f));
                *q++ = (char) (0x80 | (c & 0x3f));
        }
        return q;
}

/* Undoes the escape at `s`, which was checked when it was parsed. Returns what follows it. */
static const char *undo_escape(const char *s, const char *end, char **q) {
        static const char plain[] = "bfnrt", meant[] = "\b\f\n\r\t";
        const char *found;
        int unit, low = -1;

        s++;
        if (*s != 'u') {
                found = strchr(plain, *s);
                *(*q)++ = found ? meant[found - plain] : *s;
                return s + 1;
        }

        unit = unit_at(s + 1, end);
        s += 5;
        if (unit >= 0xd800 && unit <= 0xdbff && end - s >= 6 && s[0] == '\\' && s[1] == 'u')
                low = unit_at(s + 2, end);
        if (low >= 0xdc00 && low <= 0xdfff) {
                *q = put_code_point(*q, 0x10000u + (((unsigned) unit - 0xd800u) << 10) + ((unsigned) low - 0xdc00u));
                return s + 6;
        }

        *q = put_code_point(*q, (unsigned) unit);
        return s;
}

int json_string(const JsonText *t, const JsonNode *node, char **ret, size_t *ret_n) {
        const char *s, *end;
        char *value, *q;

        if (!node || node->type != JSON_STRING)
                return -EINVAL;

        s = t->text + node->start + 1;
        end = t->text + node->end - 1;
        /* No escape stands for more bytes than it takes. */
        value = q = malloc((size_t) (end - s) + 1);
        if (!value)
                return -ENOMEM;
        while (s < end)
                if (*s == '\\')
                        s = undo_escape(s, end, &q);
                else
                        *q++ = *s++;
        *q = '\0';

        *ret = value;
        *ret_n = (size_t) (q - value);
        return 0;
}

bool json_string_is(const JsonText *t, const JsonNode *node, const char *value) {
        _cleanup_free_ char *s = NULL;
        size_t n;

        return json_string(t, node, &s, &n) >= 0 && n == strlen(value) && memcmp(s, value, n) == 0;
}

const JsonNode *json_member(const JsonText *t, const JsonNode *object, const char *name) {
        const JsonNode *found = NULL;

        if (object && object->type == JSON_OBJECT)
                for (const JsonNode *c = object->children; c; c = c->next)
                        if (json_string_is(t, c->key, name))
                                found = c;

        return found;
}

char *json_quote(const char *value, size_t n) {
        char *text, *q;

        text = q = malloc(6 * n + 3);
        if (!text)
                return NULL;

        *q++ = '"';
        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char) value[i];

                if (c == '"' || c == '\\') {
                        *q++ = '\\';
                        *q++ = (char) c;
                } else if (c < 0x20) {
                        q = stpcpy(q, "\\u00");
                        hex_encode(&c, 1, q);
                        q += 2;
                } else
                        *q++ = (char) c;
        }
        (void) stpcpy(q, "\"");
        return text;
}

static int add_edit(JsonEdits *e, size_t start, size_t end, char *by) {
        if (!by)
                return -ENOMEM;
        if (grow(&e->items, &e->allocated, e->n + 1, sizeof(JsonEdit)) < 0) {
                free(by);
                return -ENOMEM;
        }

        e->items[e->n++] = (JsonEdit) { .start = start, .end = end, .by = by };
        return 0;
}

int json_edit_replace(JsonEdits *e, const JsonNode *node, char *by) {
        return add_edit(e, node->start, node->end, by);
}

/* An element goes with the comma before it; those at the beginning of the array with the one behind. */
int json_edit_filter(JsonEdits *e, const JsonText *t, const JsonNode *array, bool (*drop)(const JsonText *t, const JsonNode *child)) {
        bool kept = false;

        if (!array || array->type != JSON_ARRAY)
                return 0;

        for (const JsonNode *c = array->children; c; c = c->next) {
                int r;

                if (!drop(t, c)) {
                        kept = true;
                        continue;
                }
                if (kept)
                        r = add_edit(e, c->previous->end, c->end, strdup(""));
                else
                        r = add_edit(e, c->start, c->next ? c->next->start : c->end, strdup(""));
                if (r < 0)
                        return r;
        }

        return 0;
}

static int compare_edits(const void *a, const void *b) {
        const JsonEdit *x = a, *y = b;

        return (x->start > y->start) - (x->start < y->start);
}

int json_edits_apply(const JsonEdits *e, const JsonText *t, char **ret, size_t *ret_n) {
        size_t size = t->n + 1, at = json_mark_length(t->text, t->n);
        char *text, *q;

        for (size_t i = 0; i < e->n; i++)
                size += strlen(e->items[i].by);
        text = q = malloc(size);
        if (!text)
                return -ENOMEM;

        if (e->n > 1)
                qsort(e->items, e->n, sizeof(JsonEdit), compare_edits);
        for (size_t i = 0; i < e->n; i++) {
                q = mempcpy(q, t->text + at, e->items[i].start - at);
                q = stpcpy(q, e->items[i].by);
                at = e->items[i].end;
        }
        q = mempcpy(q, t->text + at, t->n - at);
        *q = '\0';

        *ret = text;
        *ret_n = (size_t) (q - text);
        return 0;
}

void json_edits_clear(JsonEdits *e) {
        for (size_t i = 0; i < e->n; i++)
                free(e->items[i].by);
        free(e->items);
        *e = (JsonEdits) { 0 };
}
