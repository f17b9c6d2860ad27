/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/doctor.h"
#include "shared/bus.h"
#include "shared/subprocess.h"

#define OUTPUT_MAX (1 * MIB)

int check_end(CheckResult *ret, CheckState state, const char *remedy, const char *format, ...) {
        char *text = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf_to(&text, format, ap);
        va_end(ap);
        if (r < 0)
                return r;

        *ret = (CheckResult) { .state = state, .text = text };
        return strdup_to(&ret->remedy, remedy);
}

void check_result_clear(CheckResult *r) {
        free(r->text);
        free(r->remedy);
        *r = (CheckResult) { 0 };
}

int doctor_check(Doctor *d, const Check *check, CheckResult *ret) {
        int r;

        if (check->flags & CHECK_SANDBOX && d->on_host)
                r = check_skipped(ret, "the profile runs on the host");
        else if (check->flags & CHECK_PODMAN && !d->podman_info)
                r = check_skipped(ret, "podman does not work");
        else if (check->flags & CHECK_BUS && !d->bus)
                r = check_skipped(ret, "no user manager answers");
        else
                r = check->run(d, ret);
        if (r < 0)
                return r;

        d->found[ret->state]++;
        return 0;
}

void doctor_clear(Doctor *d) {
        (void) sd_bus_flush_close_unref(d->bus);
        strv_free(d->podman_env);
        (void) json_object_put(d->podman_info);
        ssh_agents_clear(&d->agents);
}

int doctor_run(char *const *argv, char *const *env, unsigned seconds, bool errors, char **ret) {
        char *output = NULL;
        size_t n = 0;
        int r;

        r = subprocess_run(&(Subprocess) { .argv = argv, .env = env, .directory = "/", .timeout_usec = seconds * USEC_PER_SEC,
                                           .output_max = OUTPUT_MAX, .merge_errors = errors }, &output, &n);
        while (output && n > 0 && output[n - 1] == '\n')
                output[--n] = '\0';

        *ret = output;
        return r;
}

char *doctor_why(int r, unsigned seconds, const char *output) {
        const char *last = output ? strrchr(output, '\n') : NULL;
        char *s;

        last = last ? last + 1 : output;
        if (r == -ETIMEDOUT)
                r = asprintf_to(&s, "does not answer within %u s", seconds);
        else if (r == -ENOENT)
                r = asprintf_to(&s, "is not there");
        else if (r < 0)
                r = asprintf_to(&s, "cannot be run: %s", strerror(-r));
        else if (str_is_empty(last))
                r = asprintf_to(&s, "ends with status %d", r);
        else
                r = asprintf_to(&s, "says: %s", last);

        return r < 0 ? NULL : s;
}

Json *doctor_info(const Doctor *d, const char *path) {
        Json *value = d->podman_info;

        while (value && *path) {
                char name[32];
                const size_t n = strcspn(path, ".");

                (void) snprintf(name, sizeof(name), "%.*s", (int) n, path);
                if (!json_object_is_type(value, json_type_object) || !json_object_object_get_ex(value, name, &value))
                        return NULL;
                path += n + (path[n] == '.');
        }

        return value;
}
