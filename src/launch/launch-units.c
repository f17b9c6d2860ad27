/* SPDX-License-Identifier: MIT */

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/guest-run.h"
#include "launch/launch-limits.h"
#include "launch/launch-units.h"

#define SCOPE_STOP_USEC (10 * USEC_PER_SEC)
#define ABANDON_USEC (2 * USEC_PER_SEC)
#define PORT_TRIES 10
#define BACKLOG 4096

/* What the manager answers to a property that it does not know. */
#define ERROR_UNKNOWN_PROPERTY "org.freedesktop.DBus.Error.PropertyReadOnly"
#define ERROR_UNIT_EXISTS "org.freedesktop.systemd1.UnitExists"

static int add_processes(sd_bus_message *m, bool by_pidfd) {
        _cleanup_close_ int fd = -EBADF;

        if (!by_pidfd)
                return sd_bus_message_append(m, "(sv)", "PIDs", "au", 1, (uint32_t) getpid());

        fd = (int) syscall(SYS_pidfd_open, getpid(), 0);
        if (fd < 0)
                return -errno;
        return sd_bus_message_append(m, "(sv)", "PIDFDs", "ah", 1, fd);
}

static int scope_send(sd_bus *bus, const Plan *p, bool by_pidfd, Job *job) {
        _cleanup_bus_message_ sd_bus_message *m = NULL;
        _cleanup_free_ char *description = NULL, *shown = NULL;
        const char *controller;
        int r;

        shown = str_escape(p->directory);
        if (!shown)
                return -ENOMEM;
        r = asprintf_to(&description, "Claude sandbox of %s in %s", p->request->profile->name, shown);
        if (r >= 0)
                r = sd_bus_get_unique_name(bus, &controller);
        if (r >= 0)
                r = transient_unit_begin(bus, p->units.scope, &m);
        if (r >= 0)
                r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)(sv)",
                                "Description", "s", description,
                                "Slice", "s", p->units.slice,
                                "Delegate", "b", true,
                                "CollectMode", "s", "inactive-or-failed",
                                "TimeoutStopUSec", "t", SCOPE_STOP_USEC,
                                /* On stop the manager sends RequestStop here instead of SIGTERM to every process. */
                                "Controller", "s", controller);
        if (r >= 0)
                r = sd_bus_message_append(m, "(sv)(sv)(sv)",
                                "Wants", "as", 1, p->units.supervisor,
                                "PartOf", "as", 1, p->units.supervisor,
                                /* The bus stays until the launch is over: RequestStop comes through it. */
                                "After", "as", 4, p->units.supervisor, "dbus.socket", "dbus.service", "dbus-broker.service");
        if (r >= 0)
                r = limits_append(m, &p->limits);
        if (r >= 0)
                r = add_processes(m, by_pidfd);
        if (r >= 0)
                r = transient_unit_end(m);
        job->give_up = guest_run_pending_signal;
        if (r >= 0)
                r = job_send(job, bus, m);

        return r;
}

int scope_request(sd_bus *bus, const Plan *p, Job *job) {
        return scope_send(bus, p, true, job);
}

static int own_cgroup(char **ret) {
        _cleanup_free_ char *text = NULL;
        char *save = NULL;
        int r;

        r = io_read_file_at(AT_FDCWD, "/proc/self/cgroup", 64 * KIB, &text, NULL);
        if (r < 0)
                return r;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *path = str_after_prefix(line, "0::");

                if (path) {
                        *ret = strdup(path);
                        return *ret ? 0 : -ENOMEM;
                }
        }

        return -ENODATA;
}

int scope_wait(sd_bus *bus, const Plan *p, Job *job, char **ret_cgroup) {
        _cleanup_free_ char *why = NULL, *cgroup = NULL;
        int r;

        r = job_wait(job, &why);
        if (r < 0 && sd_bus_error_has_name(&job->error, ERROR_UNKNOWN_PROPERTY)) {
                /* systemd before 256 */
                job_clear(job);
                r = scope_send(bus, p, false, job);
                if (r >= 0)
                        r = job_wait(job, &why);
        }
        if (r == -EINTR)
                return r;
        if (r < 0)
                return log_error(r, "The user manager did not start the scope %s (%s). "
                                "See: journalctl --user -u %s .", p->units.scope, why ?: strerror(-r), p->units.supervisor);

        /* A scope can be declared dead while its process runs on (systemd issue 36781), so look. */
        r = unit_is_active(bus, p->units.scope);
        if (r > 0)
                r = own_cgroup(&cgroup);
        if (r < 0)
                return log_error(r, "Cannot look at the scope %s", p->units.scope);
        if (!cgroup || !streq(path_last(cgroup), p->units.scope))
                return log_error(-ESTALE, "The scope %s was started, but this process is not in it (%s). Try again.",
                                p->units.scope, cgroup ?: "it is not active");

        *ret_cgroup = TAKE_PTR(cgroup);
        return 0;
}

void scope_abandon(sd_bus *bus, const Plan *p) {
        _cleanup_bus_message_ sd_bus_message *m = NULL;
        int r;

        /* Answered when the stop is queued: by then the start is over, with this process inside, or cancelled. */
        r = sd_bus_message_new_method_call(bus, &m, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE, "StopUnit");
        if (r >= 0)
                r = sd_bus_message_append(m, "ss", p->units.scope, "replace");
        if (r >= 0)
                r = sd_bus_call(bus, m, ABANDON_USEC, NULL, NULL);
        if (r < 0)
                log_debug("Cannot stop the scope %s: %s", p->units.scope, strerror(-r));
}

/* A number that is free now. Somebody may take it before the manager listens; then the start fails, and another is tried: only
 * the manager's own successful listen makes a port the launch's. */
static int free_port(uint16_t *ret) {
        struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        _cleanup_close_ int fd = -EBADF;
        socklen_t n = sizeof(sa);

        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *) &sa, sizeof(sa)) < 0 || getsockname(fd, (struct sockaddr *) &sa, &n) < 0)
                return -errno;

        *ret = ntohs(sa.sin_port);
        return 0;
}

static int socket_send(sd_bus *bus, const Plan *p, BridgeSocket *s) {
        _cleanup_bus_message_ sd_bus_message *m = NULL;
        char description[256], address[32];
        int r;

        r = free_port(&s->port);
        if (r < 0)
                return r;
        (void) snprintf(description, sizeof(description), "Port of the bridge of Claude sandbox %s-%s",
                        p->request->profile->name, p->id);
        (void) snprintf(address, sizeof(address), "127.0.0.1:%u", (unsigned) s->port);

        r = transient_unit_begin(bus, p->units.socket, &m);
        if (r >= 0)
                r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)",
                                "Description", "s", description,
                                /* The netlink socket is opened by the manager: the kernel maps uids for its opener. */
                                "Listen", "a(ss)", 2, "Stream", address, "Netlink", "inet-diag 0",
                                "Backlog", "u", (uint32_t) BACKLOG,
                                "TriggerLimitIntervalUSec", "t", (uint64_t) 0,
                                "CollectMode", "s", "inactive-or-failed");
        if (r >= 0)
                r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)",
                                /* The default ones order the socket before sockets.target: a cycle at logout. */
                                "DefaultDependencies", "b", false,
                                "Conflicts", "as", 1, "shutdown.target",
                                "Before", "as", 1, "shutdown.target",
                                "BindsTo", "as", 1, p->units.scope,
                                "After", "as", 1, p->units.scope);
        if (r >= 0)
                r = transient_unit_end(m);
        s->job.give_up = guest_run_pending_signal;
        if (r >= 0)
                r = job_send(&s->job, bus, m);

        return r;
}

int bridge_socket_request(sd_bus *bus, const Plan *p, BridgeSocket *s) {
        int r;

        r = socket_send(bus, p, s);
        s->asked = r >= 0;
        return r;
}

/* The manager could not listen, or still has the unit of the try before. */
static bool socket_try_again(const BridgeSocket *s) {
        return (s->job.result && streq(s->job.result, "failed")) || sd_bus_error_has_name(&s->job.error, ERROR_UNIT_EXISTS);
}

int bridge_socket_wait(sd_bus *bus, const Plan *p, BridgeSocket *s) {
        bool again = s->asked; /* what was asked for before the scope was there may have failed for want of it */
        _cleanup_free_ char *why = NULL;
        int r = -EADDRINUSE;

        for (unsigned i = 0; i < PORT_TRIES; i++) {
                r = s->asked ? 0 : socket_send(bus, p, s);
                if (r >= 0) {
                        free(TAKE_PTR(why));
                        r = job_wait(&s->job, &why);
                }
                if (r >= 0 || r == -EINTR)
                        return r;
                if (!again && !socket_try_again(s))
                        break;

                job_clear(&s->job);
                s->asked = again = false;
        }

        return log_error(r, "The user manager did not start %s (%s). See: journalctl --user -u %s .",
                        p->units.socket, why ?: strerror(-r), p->units.socket);
}
