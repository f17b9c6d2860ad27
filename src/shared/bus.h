/* SPDX-License-Identifier: MIT */
#pragma once

/* The user manager over D-Bus: connection, jobs, unit properties. */

#include <systemd/sd-bus.h>

#include "basic/macro.h"
#include "shared/dirs.h"

#define MANAGER_NAME "org.freedesktop.systemd1"
#define MANAGER_PATH "/org/freedesktop/systemd1"
#define MANAGER_INTERFACE "org.freedesktop.systemd1.Manager"

#define BUS_TIMEOUT_USEC (25 * USEC_PER_SEC)

#define _cleanup_bus_ _cleanup_(sd_bus_flush_close_unrefp)
#define _cleanup_bus_message_ _cleanup_(sd_bus_message_unrefp)
#define _cleanup_bus_error_ _cleanup_(sd_bus_error_free)

/* Connects to the user's own bus, $XDG_RUNTIME_DIR/bus, and to no other: $DBUS_SESSION_BUS_ADDRESS may name another
 * manager's. Returns 0 or negative errno; -ENOMEDIUM when there is no usable $XDG_RUNTIME_DIR. */
int user_bus_open(const Dirs *dirs, sd_bus **ret);

/* Waits until the bus has let us in: with one that hangs, the first call would wait without a bound. `give_up`, if any, is asked
 * meanwhile; anything but 0 ends the wait with -EINTR. 0, or negative errno: then the bus is closed. */
int user_bus_wait(sd_bus *bus, int (*give_up)(void));

/* Has the manager run its generators and read all units anew, and waits for that, bounded. 0 or negative errno; -ENOMEDIUM or
 * -ECONNREFUSED: there is no manager. */
int user_manager_reload(const Dirs *dirs);

/* A call of StartTransientUnit for the unit `name`: between the two the caller appends the unit's properties, each "(sv)". 0 or negative
 * errno; `*ret` is the caller's. */
int transient_unit_begin(sd_bus *bus, const char *name, sd_bus_message **ret);
int transient_unit_end(sd_bus_message *m);

/* A job of the manager, from the request to its end ("subscribe, call, wait"). Zero-initialize. */
typedef struct Job {
        sd_bus *bus;
        sd_bus_slot *call;
        sd_bus_slot *match;
        sd_bus_error error;
        char *path;
        char *result; /* as in JobRemoved: "done", "failed", "dependency", … */
        bool ended;
        int (*give_up)(void); /* optional: asked while waiting; anything but 0 ends it with -EINTR */
} Job;

/* Sends `m`, a method call to the manager that answers with a job path, and returns at once: 0 or negative errno. */
int job_send(Job *job, sd_bus *bus, sd_bus_message *m);

/* Waits until the job has ended. 0: it is done. Otherwise negative errno, and in `*ret_why` what the manager said (an error's
 * message or the job's result; the caller frees); -EADDRINUSE and the like do not come through jobs: see the unit. job->error
 * keeps a call's D-Bus error for the caller to look at. */
int job_wait(Job *job, char **ret_why);

/* The same, bounded: -ETIMEDOUT when the job goes on, and it can be waited for again. */
int job_wait_for(Job *job, uint64_t timeout_usec, char **ret_why);

void job_clear(Job *job);
#define _cleanup_job_ _cleanup_(job_clear)

/* Calls StopUnit and waits until the job has ended; after `kill_usec` every process of the unit gets SIGKILL. A unit that is not
 * loaded is a success. */
int unit_stop(sd_bus *bus, const char *unit, uint64_t kill_usec, char **ret_why);

/* Calls StopUnit, to be waited for with job_wait(). 0 or negative errno. */
int unit_stop_send(sd_bus *bus, const char *unit, Job *job);

/* Calls StartUnit and waits; `give_up` as in Job. */
int unit_start(sd_bus *bus, const char *unit, int (*give_up)(void), char **ret_why);

/* One string property of a unit; `interface` is "Unit", "Scope", "Service"…. The caller frees. */
int unit_get_string(sd_bus *bus, const char *unit, const char *interface, const char *property, char **ret);

/* Whether the unit's ActiveState is "active". 1, 0 or negative errno. */
int unit_is_active(sd_bus *bus, const char *unit);
