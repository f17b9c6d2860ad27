/* SPDX-License-Identifier: MIT */

#include <json-c/json.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/launch-dir.h"
#include "shared/podman.h"
#include "shared/subprocess.h"

#define PODMAN_TIMEOUT_USEC (20 * USEC_PER_SEC)
#define OUTPUT_MAX (256 * KIB)
#define CLEANUP_FILE_MAX (256 * KIB)
#define REMOVE_TRIES 3

int podman_environment(char ***ret) {
        static const char *const names[] = { "HOME", "PATH", "XDG_*", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR", "LANG", "TERM",
                "COLORTERM", "CONTAINERS_*", "REGISTRY_AUTH_FILE" };

        return environment_pick(ret, names, ELEMENTSOF(names));
}

static struct json_object *access_to_json(const PodmanAccess *a) {
        struct json_object *o = json_object_new_object(), *env = json_object_new_array();

        if (!o || !env) {
                (void) json_object_put(o);
                (void) json_object_put(env);
                return NULL;
        }

        STRV_FOREACH(e, a->environment)
                (void) json_object_array_add(env, json_object_new_string(*e));
        (void) json_object_object_add(o, "podman", json_object_new_string(a->program));
        (void) json_object_object_add(o, "environment", env);

        return o;
}

int podman_access_write(int dir_fd, const PodmanAccess *a) {
        struct json_object *o;
        const char *text;
        int r;

        o = access_to_json(a);
        if (!o)
                return -ENOMEM;

        text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
        r = text ? io_write_new_at(dir_fd, LAUNCH_FILE_CLEANUP, 0600, text, strlen(text)) : -ENOMEM;
        (void) json_object_put(o);
        return r;
}

static int access_from_json(struct json_object *o, PodmanAccess *ret) {
        _cleanup_podman_access_ PodmanAccess a = { 0 };
        struct json_object *program, *env;
        int r;

        if (!json_object_object_get_ex(o, "podman", &program) || !json_object_is_type(program, json_type_string) ||
                        !json_object_object_get_ex(o, "environment", &env) || !json_object_is_type(env, json_type_array))
                return -EBADMSG;

        r = strdup_to(&a.program, json_object_get_string(program));
        for (size_t i = 0; i < json_object_array_length(env) && r >= 0; i++) {
                struct json_object *e = json_object_array_get_idx(env, i);

                r = json_object_is_type(e, json_type_string) ? strv_add(&a.environment, json_object_get_string(e)) : -EBADMSG;
        }
        if (r < 0)
                return r;

        *ret = a;
        a = (PodmanAccess) { 0 };
        return 0;
}

int podman_access_read(int dir_fd, PodmanAccess *ret) {
        _cleanup_free_ char *text = NULL;
        struct json_object *o;
        int r;

        r = io_read_file_at(dir_fd, LAUNCH_FILE_CLEANUP, CLEANUP_FILE_MAX, &text, NULL);
        if (r < 0)
                return r;

        o = json_tokener_parse(text);
        if (!o)
                return -EBADMSG;
        r = access_from_json(o, ret);
        (void) json_object_put(o);
        return r;
}

void podman_access_clear(PodmanAccess *a) {
        free(a->program);
        strv_free(a->environment);
        *a = (PodmanAccess) { 0 };
}

static int run(const PodmanAccess *a, char *const *argv, char **ret_output) {
        return subprocess_run(&(Subprocess) {
                        .argv = argv, .env = a->environment, .directory = "/",
                        .timeout_usec = PODMAN_TIMEOUT_USEC, .output_max = OUTPUT_MAX }, ret_output, NULL);
}

/* By name and labels together: an image committed from a sandbox hands its labels down to containers that are not ours. */
static int add_filters(char ***argv, const char *profile, const char *id) {
        int r;

        r = strv_addf(argv, "--filter=label=" LABEL_LAUNCH "=%s", id);
        if (r >= 0)
                r = strv_addf(argv, "--filter=label=" LABEL_PROFILE "=%s", profile);
        if (r >= 0)
                r = strv_addf(argv, "--filter=name=^claude-%s-%s$", profile, id);

        return r;
}

int podman_remove_launch(const PodmanAccess *a, const char *profile, const char *id) {
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = strv_add_many(&argv, a->program, "rm", "--force", "--time=0", "--volumes", NULL);
        if (r >= 0)
                r = add_filters(&argv, profile, id);
        if (r < 0)
                return r;

        /* The first removal after a dead conmon fails, the second works. No such container is a success. */
        for (unsigned i = 0; i < REMOVE_TRIES; i++) {
                r = run(a, argv, NULL);
                if (r <= 0)
                        return r;
        }

        return -EBUSY;
}

int podman_list_launches(const PodmanAccess *a, const char *profile, char ***ret) {
        _cleanup_strv_ char **argv = NULL, **lines = NULL, **ids = NULL;
        _cleanup_free_ char *output = NULL;
        int r;

        r = strv_add_many(&argv, a->program, "ps", "--all", "--format={{index .Labels \"" LABEL_LAUNCH "\"}}", "--filter", NULL);
        if (r >= 0)
                r = strv_addf(&argv, "label=" LABEL_PROFILE "=%s", profile);
        if (r >= 0)
                r = run(a, argv, &output);
        if (r != 0)
                return r < 0 ? r : -EIO;

        r = strv_split(output, '\n', &lines);
        STRV_FOREACH(line, lines)
                if (r >= 0 && hex_is_valid(*line, LAUNCH_ID_LENGTH))
                        r = strv_add(&ids, *line);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(ids);
        return 0;
}

int podman_image_exists(const PodmanAccess *a, const char *image) {
        char *const argv[] = { a->program, (char *) "image", (char *) "exists", (char *) "--", (char *) image, NULL };
        int r;

        /* 1 says no; everything else, that podman does not work. */
        r = run(a, argv, NULL);
        return r < 0 ? r : r == 0 ? 1 : r == 1 ? 0 : -EIO;
}
