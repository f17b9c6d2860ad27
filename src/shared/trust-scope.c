/* SPDX-License-Identifier: MIT */

#include <json-c/json.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/launch-dir.h"
#include "shared/trust-scope.h"

#define SCOPE_FILE_MAX (16 * MIB)

void trust_scope_clear(TrustScope *s) {
        free(s->profile);
        free(s->work_root);
        free(s->directory);
        strv_free(s->git_dirs);
        strv_free(s->trusted_paths);
        strv_free(s->report_paths);
        *s = (TrustScope) { 0 };
}

static int add_member(struct json_object *o, const char *key, struct json_object *value) {
        if (value && json_object_object_add(o, key, value) >= 0)
                return 0;

        (void) json_object_put(value);
        return -ENOMEM;
}

static int add_list(struct json_object *o, const char *key, char *const *list) {
        struct json_object *array = json_object_new_array();
        int r = array ? 0 : -ENOMEM;

        STRV_FOREACH(s, list) {
                struct json_object *item = r >= 0 ? json_object_new_string(*s) : NULL;

                if (item && json_object_array_add(array, item) >= 0)
                        continue;
                (void) json_object_put(item);
                r = -ENOMEM;
        }
        if (r >= 0)
                return add_member(o, key, array);

        (void) json_object_put(array);
        return r;
}

int trust_scope_write(int dir_fd, const TrustScope *s) {
        struct json_object *o = json_object_new_object();
        const char *text = NULL;
        int r;

        r = o ? add_member(o, "profile", json_object_new_string(s->profile)) : -ENOMEM;
        if (r >= 0)
                r = add_member(o, "work-root", json_object_new_string(s->work_root));
        if (r >= 0)
                r = add_member(o, "directory", json_object_new_string(s->directory));
        if (r >= 0)
                r = add_list(o, "git-directories", s->git_dirs);
        if (r >= 0)
                r = add_list(o, "trusted-paths", s->trusted_paths);
        if (r >= 0)
                r = add_list(o, "report-paths", s->report_paths);
        if (r >= 0) {
                text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
                r = text ? io_write_new_at(dir_fd, LAUNCH_FILE_TRUST_SCOPE, 0600, text, strlen(text)) : -ENOMEM;
        }

        (void) json_object_put(o);
        return r;
}

static int get_path(struct json_object *o, const char *key, char **ret) {
        struct json_object *value;

        if (!json_object_object_get_ex(o, key, &value) || !json_object_is_type(value, json_type_string) ||
                        !path_is_normalized(json_object_get_string(value)))
                return -EBADMSG;

        return strdup_to(ret, json_object_get_string(value));
}

static int get_list(struct json_object *o, const char *key, bool paths, char ***ret) {
        struct json_object *array;

        if (!json_object_object_get_ex(o, key, &array) || !json_object_is_type(array, json_type_array))
                return -EBADMSG;

        for (size_t i = 0; i < json_object_array_length(array); i++) {
                struct json_object *item = json_object_array_get_idx(array, i);
                int r;

                if (!json_object_is_type(item, json_type_string) || (paths && !path_is_normalized(json_object_get_string(item))))
                        return -EBADMSG;
                r = strv_add(ret, json_object_get_string(item));
                if (r < 0)
                        return r;
        }

        return 0;
}

int trust_scope_read(int dir_fd, TrustScope *ret) {
        _cleanup_trust_scope_ TrustScope s = { 0 };
        _cleanup_free_ char *text = NULL;
        struct json_object *o;
        int r;

        r = io_read_file_at(dir_fd, LAUNCH_FILE_TRUST_SCOPE, SCOPE_FILE_MAX, &text, NULL);
        if (r < 0)
                return r;

        o = json_tokener_parse(text);
        r = json_object_is_type(o, json_type_object) ? 0 : -EBADMSG;
        if (r >= 0)
                r = get_path(o, "profile", &s.profile);
        if (r >= 0)
                r = get_path(o, "work-root", &s.work_root);
        if (r >= 0)
                r = get_path(o, "directory", &s.directory);
        if (r >= 0)
                r = get_list(o, "git-directories", true, &s.git_dirs);
        if (r >= 0)
                r = get_list(o, "trusted-paths", true, &s.trusted_paths);
        if (r >= 0)
                r = get_list(o, "report-paths", false, &s.report_paths);
        (void) json_object_put(o);
        if (r < 0)
                return r;

        *ret = s;
        s = (TrustScope) { 0 };
        return 0;
}

static const char *path_below(const char *path, const char *dir) {
        return path_is_within(path, dir) ? path + strlen(dir) + (path[strlen(dir)] == '/') : NULL;
}

bool trust_scope_locate(const TrustScope *s, const char *path, unsigned *ret_root, const char **ret_below) {
        const char *below;
        unsigned root = TRUST_ROOT_OUTSIDE;

        if ((below = path_below(path, s->work_root)))
                root = TRUST_ROOT_WORK;
        else if ((below = path_below(path, s->profile)))
                root = TRUST_ROOT_PROFILE;
        else
                STRV_FOREACH(dir, s->git_dirs) {
                        below = path_below(path, *dir);
                        if (below)
                                break;
                        root++;
                }
        if (!below)
                return false;

        *ret_root = root;
        *ret_below = below;
        return true;
}

const char *trust_scope_root(const TrustScope *s, unsigned root) {
        if (root == TRUST_ROOT_PROFILE)
                return s->profile;
        if (root == TRUST_ROOT_WORK)
                return s->work_root;

        return root - TRUST_ROOT_OUTSIDE < strv_length(s->git_dirs) ? s->git_dirs[root - TRUST_ROOT_OUTSIDE] : NULL;
}
