/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/strv.h"
#include "shared/json-object.h"

int json_add(Json *object, const char *key, Json *value) {
        if (value && json_object_object_add(object, key, value) >= 0)
                return 0;

        (void) json_object_put(value);
        return -ENOMEM;
}

int json_append(Json *array, Json *value) {
        if (value && json_object_array_add(array, value) >= 0)
                return 0;

        (void) json_object_put(value);
        return -ENOMEM;
}

int json_add_string(Json *object, const char *key, const char *value) {
        return json_add(object, key, json_object_new_string(value));
}

int json_add_strings(Json *object, const char *key, char *const *list) {
        _cleanup_json_ Json *array = json_object_new_array();

        if (!array)
                return -ENOMEM;

        STRV_FOREACH(s, list) {
                int r;

                r = json_append(array, json_object_new_string(*s));
                if (r < 0)
                        return r;
        }

        return json_add(object, key, TAKE_PTR(array));
}

const char *json_value_string(Json *value) {
        const char *s;

        if (!json_object_is_type(value, json_type_string))
                return NULL;

        /* A string with a NUL inside is longer than it looks. */
        s = json_object_get_string(value);
        return strlen(s) == (size_t) json_object_get_string_len(value) ? s : NULL;
}

const char *json_get_string(Json *object, const char *key) {
        Json *value;

        return json_object_object_get_ex(object, key, &value) ? json_value_string(value) : NULL;
}

const char *json_get_path(Json *object, const char *key) {
        const char *s = json_get_string(object, key);

        return s && path_is_normalized(s) ? s : NULL;
}

int json_get_strings(Json *object, const char *key, char ***ret) {
        _cleanup_strv_ char **list = NULL;
        Json *array;

        if (!json_object_object_get_ex(object, key, &array) || !json_object_is_type(array, json_type_array))
                return -EBADMSG;

        for (size_t i = 0; i < json_object_array_length(array); i++) {
                const char *s = json_value_string(json_object_array_get_idx(array, i));

                if (!s)
                        return -EBADMSG;
                if (strv_add(&list, s) < 0)
                        return -ENOMEM;
        }

        *ret = TAKE_PTR(list);
        return 0;
}

int json_write_new_at(int dir_fd, const char *name, Json *value) {
        const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);

        return text ? io_write_new_at(dir_fd, name, 0600, text, strlen(text)) : -ENOMEM;
}

int json_read_at(int dir_fd, const char *name, size_t max, enum json_type type, Json **ret) {
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ Json *value = NULL;
        int r;

        r = io_read_file_at(dir_fd, name, max, &text, NULL);
        if (r < 0)
                return r;

        value = json_tokener_parse(text);
        if (!json_object_is_type(value, type))
                return -EBADMSG;

        *ret = TAKE_PTR(value);
        return 0;
}
