/* SPDX-License-Identifier: MIT */
#pragma once

/* JSON (RFC 8259) as text with marks: where each value begins and ends, so that one can be cut out or replaced and every other
 * byte stays as it is. A library that reads values and prints them anew cannot do that: numbers, order, escapes and white space
 * of a user's settings would change. Strict: no comments, no trailing commas. A byte-order mark is passed over. */

#include <string.h>

#include "basic/macro.h"

typedef enum JsonType {
        JSON_OBJECT,
        JSON_ARRAY,
        JSON_STRING,
        JSON_OTHER, /* a number, true, false or null */
} JsonType;

typedef struct JsonNode JsonNode;
struct JsonNode {
        JsonType type;
        size_t start, end; /* bytes of the text, quotes and brackets included */
        JsonNode *parent;
        JsonNode *children, *last;     /* of an object or array, in order */
        JsonNode *previous, *next;
        JsonNode *key;     /* of an object's member: a JSON_STRING */
};

typedef struct JsonText {
        const char *text; /* the caller's */
        size_t n;
        JsonNode *root;
} JsonText;

#define JSON_DEPTH_MAX 64
#define JSON_NODES_MAX 500000 /* names count, too */

/* How many bytes a byte-order mark takes at the beginning: editors leave one, and not every reader passes it over. */
static inline size_t json_mark_length(const char *text, size_t n) {
        return n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Returns 0, -ENOMEM, or -EBADMSG with "line L, column C: what is wrong there" in `*ret_error` (the caller's). */
int json_text_parse(const char *text, size_t n, JsonText *ret, char **ret_error);
void json_text_clear(JsonText *t);
#define _cleanup_json_text_ _cleanup_(json_text_clear)

/* The member of that name, as claude takes it: of several the last. NULL: none, or no object. */
const JsonNode *json_member(const JsonText *t, const JsonNode *object, const char *name);

/* A string's value, escapes undone; it may hold NUL, so its length counts. The caller frees. 0, -EINVAL if it is no string, or
 * -ENOMEM. */
int json_string(const JsonText *t, const JsonNode *node, char **ret, size_t *ret_n);

/* Whether a string has exactly that value. */
bool json_string_is(const JsonText *t, const JsonNode *node, const char *value);

/* A value as a string of JSON, quotes included. The caller frees; NULL when out of memory. */
char *json_quote(const char *value, size_t n);

/* Changes to a text, collected and then made all at once. Zero-initialize. */
typedef struct JsonEdit {
        size_t start, end;
        char *by;
} JsonEdit;

typedef struct JsonEdits {
        JsonEdit *items;
        size_t n, allocated;
} JsonEdits;

/* Replaces a value; owns `by` from entry on. */
int json_edit_replace(JsonEdits *e, const JsonNode *node, char *by);

/* Takes elements out of an array, with the commas that they need: those children for which `drop` is true. */
int json_edit_filter(JsonEdits *e, const JsonText *t, const JsonNode *array, bool (*drop)(const JsonText *t, const JsonNode *child));

/* The text with all edits made, without a byte-order mark; they must not overlap. The caller frees. 0 or -ENOMEM. */
int json_edits_apply(const JsonEdits *e, const JsonText *t, char **ret, size_t *ret_n);
void json_edits_clear(JsonEdits *e);
#define _cleanup_json_edits_ _cleanup_(json_edits_clear)
