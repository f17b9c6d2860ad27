/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "shared/guard-list.h"
#include "shared/json-object.h"
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

static int add_guard(Json *array, const Guard *g) {
        _cleanup_json_ Json *o = json_object_new_object();
        int r;

        r = o ? json_add_string(o, "path", g->path) : -ENOMEM;
        if (r >= 0)
                r = json_add_string(o, "source", g->source);
        if (r >= 0)
                r = json_add_string(o, "target", g->target);
        if (r >= 0)
                r = json_add(o, "read-only", json_object_new_boolean(g->read_only));
        if (r >= 0)
                r = json_add(o, "pin", json_object_new_boolean(g->pin));
        return r < 0 ? r : json_append(array, TAKE_PTR(o));
}

int guard_list_write(int dir_fd, const GuardList *l) {
        _cleanup_json_ Json *array = json_object_new_array();
        int r;

        r = array ? 0 : -ENOMEM;
        for (size_t i = 0; i < l->n && r >= 0; i++)
                r = add_guard(array, &l->guards[i]);

        return r < 0 ? r : json_write_new_at(dir_fd, LAUNCH_FILE_GUARDS, array);
}

static int parse_guard(Json *o, GuardList *l) {
        Json *read_only, *pin;
        /* guard_list_add() copies. */
        Guard g = { .path = (char *) json_get_path(o, "path"), .source = (char *) json_get_path(o, "source"),
                .target = (char *) json_get_path(o, "target") };

        if (!g.path || !g.source || !g.target || !json_object_object_get_ex(o, "read-only", &read_only) ||
                        !json_object_object_get_ex(o, "pin", &pin))
                return -EBADMSG;

        g.read_only = json_object_get_boolean(read_only);
        g.pin = json_object_get_boolean(pin);
        return guard_list_add(l, &g);
}

int guard_list_read(int dir_fd, GuardList *ret) {
        _cleanup_guard_list_ GuardList l = { 0 };
        _cleanup_json_ Json *array = NULL;
        int r;

        r = json_read_at(dir_fd, LAUNCH_FILE_GUARDS, GUARDS_FILE_MAX, json_type_array, &array);
        for (size_t i = 0; r >= 0 && i < json_object_array_length(array); i++)
                r = parse_guard(json_object_array_get_idx(array, i), &l);
        if (r < 0)
                return r;

        *ret = l;
        l = (GuardList) { 0 };
        return 0;
}
