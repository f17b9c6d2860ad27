/* SPDX-License-Identifier: MIT */
#pragma once

/* json-c with this project's errors and ownership, for the small files that its programs leave each other in a launch directory. */

#include <json-c/json.h>

#include "basic/macro.h"

typedef struct json_object Json;

static inline void json_putp(Json **o) {
        (void) json_object_put(*o);
}
#define _cleanup_json_ _cleanup_(json_putp)

/* Adding to an object or array. Each owns `value` from entry on; NULL, which json-c returns when out of memory, is an error.
 * 0 or -ENOMEM. */
int json_add(Json *object, const char *key, Json *value);
int json_append(Json *array, Json *value);
int json_add_string(Json *object, const char *key, const char *value);
int json_add_strings(Json *object, const char *key, char *const *list);

/* A value, or a member's: NULL unless it is a string without a NUL inside. The object's. */
const char *json_value_string(Json *value);
const char *json_get_string(Json *object, const char *key);

/* The same of a path: absolute and normalized. */
const char *json_get_path(Json *object, const char *key);

/* A member that is an array of such strings, the caller's. 0, -EBADMSG or -ENOMEM. */
int json_get_strings(Json *object, const char *key, char ***ret);

/* Writes a new file, 0600, below `dir_fd`. 0 or negative errno. */
int json_write_new_at(int dir_fd, const char *name, Json *value);

/* Reads a file of at most `max` bytes that holds one value of that type, else -EBADMSG. 0 or negative errno. */
int json_read_at(int dir_fd, const char *name, size_t max, enum json_type type, Json **ret);
