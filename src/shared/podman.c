/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/json-object.h"
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

int podman_access_write(int dir_fd, const PodmanAccess *a) {
        _cleanup_json_ Json *o = json_object_new_object();
        int r;

        r = o ? json_add_string(o, "podman", a->program) : -ENOMEM;
        if (r >= 0)
                r = json_add_strings(o, "environment", a->environment);

        return r < 0 ? r : json_write_new_at(dir_fd, LAUNCH_FILE_CLEANUP, o);
}

int podman_access_read(int dir_fd, PodmanAccess *ret) {
        _cleanup_podman_access_ PodmanAccess a = { 0 };
        _cleanup_json_ Json *o = NULL;
        const char *program;
        int r;

        r = json_read_at(dir_fd, LAUNCH_FILE_CLEANUP, CLEANUP_FILE_MAX, json_type_object, &o);
        if (r < 0)
                return r;

        program = json_get_string(o, "podman");
        r = program ? strdup_to(&a.program, program) : -EBADMSG;
        if (r >= 0)
                r = json_get_strings(o, "environment", &a.environment);
        if (r < 0)
                return r;

        *ret = a;
        a = (PodmanAccess) { 0 };
        return 0;
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
