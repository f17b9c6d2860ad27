/* SPDX-License-Identifier: MIT */

#include <json-c/json.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/path.h"
#include "shared/guard-list.h"
#include "shared/launch-dir.h"

#define GUARDS_FILE_MAX (16 * MIB)

static void guard_clear(Guard *g) {
        free(g->path);
        free(g->source);
        free(g->target);
}

int guard_list_add(GuardList *l, const Guard *g) {
        Guard copy = { .read_only = g->read_only, .pin = g->pin };

        if (grow(&l->guards, &l->allocated, l->n + 1, sizeof(Guard)) < 0 || strdup_to(&copy.path, g->path) < 0 ||
                        strdup_to(&copy.source, g->source) < 0 || strdup_to(&copy.target, g->target) < 0) {
                guard_clear(&copy);
                return -ENOMEM;
        }

        l->guards[l->n++] = copy;
        return 0;
}

void guard_list_clear(GuardList *l) {
        for (size_t i = 0; i < l->n; i++)
                guard_clear(&l->guards[i]);
        free(l->guards);
        *l = (GuardList) { 0 };
}

static int add_member(struct json_object *o, const char *key, struct json_object *value) {
        if (value && json_object_object_add(o, key, value) >= 0)
                return 0;

        (void) json_object_put(value);
        return -ENOMEM;
}

static int add_guard(struct json_object *array, const Guard *g) {
        struct json_object *o = json_object_new_object();
        int r;

        r = o ? add_member(o, "path", json_object_new_string(g->path)) : -ENOMEM;
        if (r >= 0)
                r = add_member(o, "source", json_object_new_string(g->source));
        if (r >= 0)
                r = add_member(o, "target", json_object_new_string(g->target));
        if (r >= 0)
                r = add_member(o, "read-only", json_object_new_boolean(g->read_only));
        if (r >= 0)
                r = add_member(o, "pin", json_object_new_boolean(g->pin));
        if (r >= 0 && json_object_array_add(array, o) < 0)
                r = -ENOMEM;
        if (r < 0)
                (void) json_object_put(o);
        return r;
}

int guard_list_write(int dir_fd, const GuardList *l) {
        struct json_object *array = json_object_new_array();
        const char *text = NULL;
        int r;

        r = array ? 0 : -ENOMEM;
        for (size_t i = 0; i < l->n && r >= 0; i++)
                r = add_guard(array, &l->guards[i]);
        if (r >= 0) {
                text = json_object_to_json_string_ext(array, JSON_C_TO_STRING_PLAIN);
                r = text ? io_write_new_at(dir_fd, LAUNCH_FILE_GUARDS, 0600, text, strlen(text)) : -ENOMEM;
        }

        (void) json_object_put(array);
        return r;
}

static const char *get_path(struct json_object *o, const char *key) {
        struct json_object *value;

        if (!json_object_object_get_ex(o, key, &value) || !json_object_is_type(value, json_type_string) ||
                        !path_is_normalized(json_object_get_string(value)))
                return NULL;

        return json_object_get_string(value);
}

static int parse_guard(struct json_object *o, GuardList *l) {
        struct json_object *read_only, *pin;
        /* guard_list_add() copies. */
        Guard g = { .path = (char *) get_path(o, "path"), .source = (char *) get_path(o, "source"),
                .target = (char *) get_path(o, "target") };

        if (!g.path || !g.source || !g.target || !json_object_object_get_ex(o, "read-only", &read_only) ||
                        !json_object_object_get_ex(o, "pin", &pin))
                return -EBADMSG;

        g.read_only = json_object_get_boolean(read_only);
        g.pin = json_object_get_boolean(pin);
        return guard_list_add(l, &g);
}

int guard_list_read(int dir_fd, GuardList *ret) {
        _cleanup_guard_list_ GuardList l = { 0 };
        _cleanup_free_ char *text = NULL;
        struct json_object *array;
        int r;

        r = io_read_file_at(dir_fd, LAUNCH_FILE_GUARDS, GUARDS_FILE_MAX, &text, NULL);
        if (r < 0)
                return r;

        array = json_tokener_parse(text);
        r = json_object_is_type(array, json_type_array) ? 0 : -EBADMSG;
        for (size_t i = 0; r >= 0 && i < json_object_array_length(array); i++)
                r = parse_guard(json_object_array_get_idx(array, i), &l);
        (void) json_object_put(array);
        if (r < 0)
                return r;

        *ret = l;
        l = (GuardList) { 0 };
        return 0;
}
