/* SPDX-License-Identifier: MIT */

#include <json-c/json.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/host-programs.h"
#include "shared/launch-dir.h"
#include "shared/subprocess.h"

#define PROGRAMS_FILE_MAX (256 * KIB)

int host_programs_environment(char ***ret) {
        static const char *const names[] = { "HOME", "PATH", "LANG", "LC_*", "TMPDIR", "XDG_*", "WAYLAND_DISPLAY",
                "DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION" };

        return environment_pick(ret, names, ELEMENTSOF(names));
}

void host_programs_clear(HostPrograms *p) {
        free(p->browser);
        free(p->paste);
        strv_free(p->environment);
        *p = (HostPrograms) {};
}

static int add_string(struct json_object *o, const char *key, const char *value) {
        struct json_object *s = json_object_new_string(value);

        if (s && json_object_object_add(o, key, s) >= 0)
                return 0;

        (void) json_object_put(s);
        return -ENOMEM;
}

static int fill(struct json_object *o, const HostPrograms *p) {
        struct json_object *env = json_object_new_array();
        int r = 0;

        if (!env || json_object_object_add(o, "environment", env) < 0) {
                (void) json_object_put(env);
                return -ENOMEM;
        }
        STRV_FOREACH(e, p->environment)
                if (r >= 0 && json_object_array_add(env, json_object_new_string(*e)) < 0)
                        r = -ENOMEM;

        if (r >= 0 && p->browser)
                r = add_string(o, "browser", p->browser);
        if (r >= 0 && p->paste)
                r = add_string(o, "paste", p->paste);
        if (r >= 0 && p->paste)
                r = add_string(o, "paste-program", paste_program_to_string(p->paste_program));

        return r;
}

int host_programs_write(int dir_fd, const HostPrograms *p) {
        struct json_object *o = json_object_new_object();
        const char *text = NULL;
        int r;

        r = o ? fill(o, p) : -ENOMEM;
        if (r >= 0)
                text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        if (r >= 0)
                r = text ? io_write_new_at(dir_fd, LAUNCH_FILE_PROGRAMS, 0600, text, strlen(text)) : -ENOMEM;

        (void) json_object_put(o);
        return r;
}

/* An absolute path, or nothing. */
static int take_path(struct json_object *o, const char *key, char **ret) {
        struct json_object *value;

        if (!json_object_object_get_ex(o, key, &value))
                return 0;
        if (!json_object_is_type(value, json_type_string) || json_object_get_string(value)[0] != '/')
                return -EBADMSG;

        return strdup_to(ret, json_object_get_string(value));
}

static int parse(struct json_object *o, HostPrograms *p) {
        struct json_object *env, *program;
        int r;

        r = take_path(o, "browser", &p->browser);
        if (r >= 0)
                r = take_path(o, "paste", &p->paste);
        if (r < 0)
                return r;

        if (p->paste) {
                if (!json_object_object_get_ex(o, "paste-program", &program))
                        return -EBADMSG;
                p->paste_program = paste_program_from_string(json_object_get_string(program) ?: "");
                if (p->paste_program < 0)
                        return -EBADMSG;
        }

        if (!json_object_object_get_ex(o, "environment", &env) || !json_object_is_type(env, json_type_array))
                return -EBADMSG;
        for (size_t i = 0; i < json_object_array_length(env) && r >= 0; i++) {
                struct json_object *e = json_object_array_get_idx(env, i);

                r = json_object_is_type(e, json_type_string)
                                    ? strv_add(&p->environment, json_object_get_string(e))
                                    : -EBADMSG;
        }

        return r;
}

int host_programs_read(int dir_fd, HostPrograms *ret) {
        _cleanup_host_programs_ HostPrograms p = {};
        _cleanup_free_ char *text = NULL;
        struct json_object *o;
        int r;

        r = io_read_file_at(dir_fd, LAUNCH_FILE_PROGRAMS, PROGRAMS_FILE_MAX, &text, NULL);
        if (r < 0)
                return r;

        o = json_tokener_parse(text);
        r = json_object_is_type(o, json_type_object) ? parse(o, &p) : -EBADMSG;
        (void) json_object_put(o);
        if (r < 0)
                return r;

        *ret = p;
        p = (HostPrograms) {};
        return 0;
}
