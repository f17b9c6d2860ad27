/* SPDX-License-Identifier: MIT */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/str.h"
#include "shared/bus.h"

#define GIVE_UP_USEC (50 * USEC_PER_MSEC)

static int bus_address(const Dirs *dirs, char **ret) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.*";
        const char *tail = "/bus";
        char *out, *q;

        /* The D-Bus specification's escaping of address values: %XX for all but the plain characters. */
        out = q = malloc(STRLEN("unix:path=") + 3 * strlen(dirs->runtime_root) + strlen(tail) + 1);
        if (!out)
                return -ENOMEM;

        q = stpcpy(q, "unix:path=");
        for (const char *p = dirs->runtime_root; *p; p++)
                if (strchr(plain, *p))
                        *q++ = *p;
                else
                        q += sprintf(q, "%%%02x", (unsigned char) *p);
        (void) stpcpy(q, tail);

        *ret = out;
        return 0;
}

int user_bus_open(const Dirs *dirs, sd_bus **ret) {
        _cleanup_free_ char *address = NULL;
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        if (!dirs->runtime_root)
                return -ENOMEDIUM;

        r = bus_address(dirs, &address);
        if (r < 0)
                return r;

        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, address);
        if (r < 0)
                return r;
        r = sd_bus_set_bus_client(bus, true);
        if (r < 0)
                return r;
        r = sd_bus_set_method_call_timeout(bus, BUS_TIMEOUT_USEC);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(bus);
        return 0;
}

static int wait_until_ready(sd_bus *bus, int (*give_up)(void)) {
        uint64_t deadline = now_usec() + BUS_TIMEOUT_USEC;
        int r;

        while ((r = sd_bus_is_ready(bus)) == 0) {
                r = sd_bus_process(bus, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;

                if (give_up && give_up() != 0)
                        return -EINTR;
                if (now_usec() >= deadline)
                        return -ETIMEDOUT;
                r = sd_bus_wait(bus, GIVE_UP_USEC);
                if (r < 0 && r != -EINTR)
                        return r;
        }

        return MIN(r, 0);
}

int user_bus_wait(sd_bus *bus, int (*give_up)(void)) {
        int r;

        r = wait_until_ready(bus, give_up);
        if (r < 0)
                sd_bus_close(bus); /* to flush one that does not let us in would wait without a bound */
        return r;
}

int user_manager_reload(const Dirs *dirs) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL; /* without a flush, which has no bound */
        int r;

        r = user_bus_open(dirs, &bus);
        if (r == -ENOENT)
                return -ECONNREFUSED;
        if (r >= 0)
                r = user_bus_wait(bus, NULL);
        if (r >= 0)
                r = sd_bus_call_method(bus, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE, "Reload", NULL, NULL, NULL);
        /* A bus without a manager on it: as dbus-daemon says it, and as dbus-broker does. */
        return r == -EHOSTUNREACH || r == -ENXIO ? -ECONNREFUSED : MIN(r, 0);
}

int transient_unit_begin(sd_bus *bus, const char *name, sd_bus_message **ret) {
        _cleanup_bus_message_ sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE, "StartTransientUnit");
        if (r >= 0)
                /* "fail" would lose to a queued stop job of the supervisor, without an error. */
                r = sd_bus_message_append(m, "ss", name, "replace");
        if (r >= 0)
                r = sd_bus_message_open_container(m, 'a', "(sv)");
        if (r < 0)
                return r;

        *ret = TAKE_PTR(m);
        return 0;
}

int transient_unit_end(sd_bus_message *m) {
        int r;

        r = sd_bus_message_close_container(m);
        if (r >= 0)
                r = sd_bus_message_append(m, "a(sa(sv))", 0);
        return r;
}

static int on_job_removed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *path, *unit, *result;
        Job *job = userdata;
        uint32_t id;
        int r;

        r = sd_bus_message_read(m, "uoss", &id, &path, &unit, &result);
        if (r < 0)
                return 0;

        /* The manager answers the call before it sends this signal, so the path is known when it matters. */
        if (!job->path || !streq(path, job->path))
                return 0;

        (void) strdup_to(&job->result, result);
        job->ended = true;
        return 0;
}

static int on_job_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *path;
        Job *job = userdata;

        if (sd_bus_message_is_method_error(m, NULL)) {
                (void) sd_bus_error_copy(&job->error, sd_bus_message_get_error(m));
                job->ended = true;
        } else if (sd_bus_message_read(m, "o", &path) < 0 || strdup_to(&job->path, path) < 0)
                job->ended = true;

        return 0;
}

int job_send(Job *job, sd_bus *bus, sd_bus_message *m) {
        int r;

        job->bus = sd_bus_ref(bus);

        r = sd_bus_match_signal_async(bus, &job->match, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE,
                        "JobRemoved", on_job_removed, NULL, job);
        if (r < 0)
                return r;

        r = sd_bus_call_async(bus, &job->call, m, on_job_reply, job, BUS_TIMEOUT_USEC);
        if (r < 0)
                return r;

        return sd_bus_flush(bus);
}

int job_wait(Job *job, char **ret_why) {
        return job_wait_for(job, 2 * BUS_TIMEOUT_USEC, ret_why);
}

int job_wait_for(Job *job, uint64_t timeout_usec, char **ret_why) {
        uint64_t deadline = now_usec() + timeout_usec;
        int r;

        while (!job->ended) {
                uint64_t now;

                r = sd_bus_process(job->bus, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        continue;

                if (job->give_up && job->give_up() != 0)
                        return -EINTR;
                now = now_usec();
                if (now >= deadline)
                        return -ETIMEDOUT;
                r = sd_bus_wait(job->bus, MIN(deadline - now, job->give_up ? GIVE_UP_USEC : UINT64_MAX));
                if (r < 0 && r != -EINTR)
                        return r;
        }

        if (sd_bus_error_is_set(&job->error)) {
                (void) strdup_to(ret_why, job->error.message ?: job->error.name);
                r = sd_bus_error_get_errno(&job->error);
                return r > 0 ? -r : -EIO;
        }
        if (!job->result)
                return -ENOMEM;
        if (!streq(job->result, "done")) {
                (void) strdup_to(ret_why, job->result);
                return -ECANCELED;
        }

        return 0;
}

void job_clear(Job *job) {
        job->call = sd_bus_slot_unref(job->call);
        job->match = sd_bus_slot_unref(job->match);
        job->bus = sd_bus_unref(job->bus);
        sd_bus_error_free(&job->error);
        free(job->path);
        free(job->result);
        *job = (Job) { 0 };
}

static int unit_job_send(sd_bus *bus, const char *method, const char *unit, Job *job) {
        _cleanup_bus_message_ sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &m, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE, method);
        if (r < 0)
                return r;
        r = sd_bus_message_append(m, "ss", unit, "replace");
        if (r < 0)
                return r;

        return job_send(job, bus, m);
}

static int unit_kill(sd_bus *bus, const char *unit) {
        return sd_bus_call_method(bus, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE, "KillUnit", NULL, NULL, "ssi", unit,
                        "all", SIGKILL);
}

int unit_stop(sd_bus *bus, const char *unit, uint64_t kill_usec, char **ret_why) {
        _cleanup_job_ Job job = { 0 };
        int r;

        r = unit_job_send(bus, "StopUnit", unit, &job);
        if (r < 0)
                return r;
        r = job_wait_for(&job, kill_usec, ret_why);
        if (r == -ETIMEDOUT) {
                (void) unit_kill(bus, unit);
                r = job_wait(&job, ret_why);
        }
        if (sd_bus_error_has_name(&job.error, "org.freedesktop.systemd1.NoSuchUnit"))
                return 0;
        return r;
}

int unit_stop_send(sd_bus *bus, const char *unit, Job *job) {
        return unit_job_send(bus, "StopUnit", unit, job);
}

int unit_start(sd_bus *bus, const char *unit, int (*give_up)(void), char **ret_why) {
        _cleanup_job_ Job job = { .give_up = give_up };
        int r;

        r = unit_job_send(bus, "StartUnit", unit, &job);
        return r < 0 ? r : job_wait(&job, ret_why);
}

int unit_get_string(sd_bus *bus, const char *unit, const char *interface, const char *property, char **ret) {
        _cleanup_free_ char *path = NULL, *full = NULL;
        int r;

        r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path);
        if (r < 0)
                return r;
        r = asprintf_to(&full, "org.freedesktop.systemd1.%s", interface);
        if (r < 0)
                return r;

        return sd_bus_get_property_string(bus, MANAGER_NAME, path, full, property, NULL, ret);
}

int unit_is_active(sd_bus *bus, const char *unit) {
        _cleanup_free_ char *state = NULL;
        int r;

        r = unit_get_string(bus, unit, "Unit", "ActiveState", &state);
        if (r < 0)
                return r;

        return streq(state, "active");
}
