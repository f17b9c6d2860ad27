/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/host-programs.h"
#include "shared/json-object.h"
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

int host_programs_write(int dir_fd, const HostPrograms *p) {
        _cleanup_json_ Json *o = json_object_new_object();
        int r;

        r = o ? json_add_strings(o, "environment", p->environment) : -ENOMEM;
        if (r >= 0 && p->browser)
                r = json_add_string(o, "browser", p->browser);
        if (r >= 0 && p->paste)
                r = json_add_string(o, "paste", p->paste);
        if (r >= 0 && p->paste)
                r = json_add_string(o, "paste-program", paste_program_to_string(p->paste_program));

        return r < 0 ? r : json_write_new_at(dir_fd, LAUNCH_FILE_PROGRAMS, o);
}

/* An absolute path, or nothing. */
static int take_path(Json *o, const char *key, char **ret) {
        const char *path = json_get_string(o, key);

        if (!json_object_object_get_ex(o, key, NULL))
                return 0;
        return path && path[0] == '/' ? strdup_to(ret, path) : -EBADMSG;
}

static int parse(Json *o, HostPrograms *p) {
        int r;

        r = take_path(o, "browser", &p->browser);
        if (r >= 0)
                r = take_path(o, "paste", &p->paste);
        if (r < 0)
                return r;

        if (p->paste) {
                p->paste_program = paste_program_from_string(json_get_string(o, "paste-program") ?: "");
                if (p->paste_program < 0)
                        return -EBADMSG;
        }

        return json_get_strings(o, "environment", &p->environment);
}

int host_programs_read(int dir_fd, HostPrograms *ret) {
        _cleanup_host_programs_ HostPrograms p = {};
        _cleanup_json_ Json *o = NULL;
        int r;

        r = json_read_at(dir_fd, LAUNCH_FILE_PROGRAMS, PROGRAMS_FILE_MAX, json_type_object, &o);
        if (r >= 0)
                r = parse(o, &p);
        if (r < 0)
                return r;

        *ret = p;
        p = (HostPrograms) {};
        return 0;
}
