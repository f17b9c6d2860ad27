/* SPDX-License-Identifier: MIT */
#pragma once

/* A thread that stands in for the bus and the user manager on it, for one connection: it answers as its script says, and writes down
 * what it was asked. Include after cmocka.h. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/macro.h"
#include "basic/str.h"
#include "shared/bus.h"

#define MANAGER_JOB "/org/freedesktop/systemd1/job/"

typedef struct JobAnswer {
        const char *error;        /* an error's name instead of a job */
        const char *result;       /* of the job; NULL: it never ends */
        bool other_first;         /* another job of the same unit ends before */
        bool hangs_up;            /* after the answer */
} JobAnswer;

typedef struct StandInManager {
        const JobAnswer *jobs; /* one for each call that makes a job, in order */
        size_t n_jobs, next;
        const char *reload_error; /* what Reload is answered with; NULL: it succeeds */
        const char *inactive;  /* a part of the name of units that are not active */
        int listen_fd;
        pthread_t thread;
        char log[16 * 1024]; /* a line for each such call: method, unit, mode, properties */
        size_t n_log;
        unsigned kills; /* calls of KillUnit; what its unit's job waits for is over then */
} StandInManager;

/* Appends one value, or what is in a container, as text. */
static void manager_log_value(StandInManager *s, sd_bus_message *m) {
        const char *contents, *text;
        uint64_t t;
        uint32_t u;
        int b;
        char type;

        while (sd_bus_message_peek_type(m, &type, &contents) > 0) {
                char *to = s->log + s->n_log;
                size_t room = sizeof(s->log) - s->n_log;
                int n = 0;

                switch (type) {
                case 's':
                        (void) sd_bus_message_read_basic(m, type, &text);
                        n = snprintf(to, room, " %s", text);
                        break;
                case 't':
                        (void) sd_bus_message_read_basic(m, type, &t);
                        n = snprintf(to, room, " %llu", (unsigned long long) t);
                        break;
                case 'u':
                        (void) sd_bus_message_read_basic(m, type, &u);
                        n = snprintf(to, room, " %u", u);
                        break;
                case 'b':
                        (void) sd_bus_message_read_basic(m, type, &b);
                        n = snprintf(to, room, " %s", b ? "true" : "false");
                        break;
                case 'h':
                        (void) sd_bus_message_read_basic(m, type, &b);
                        n = snprintf(to, room, " fd");
                        break;
                default:
                        /* A container. */
                        if (sd_bus_message_enter_container(m, type, contents) <= 0)
                                return;
                        manager_log_value(s, m);
                        (void) sd_bus_message_exit_container(m);
                        if (type == 'r')
                                n = snprintf(s->log + s->n_log, sizeof(s->log) - s->n_log, ";");
                }
                s->n_log += (size_t) n;
        }
}

static void manager_send_job_removed(sd_bus *bus, const char *path, const char *unit, const char *result) {
        _cleanup_bus_message_ sd_bus_message *m = NULL;

        if (sd_bus_message_new_signal(bus, &m, MANAGER_PATH, MANAGER_INTERFACE, "JobRemoved") >= 0 &&
                        sd_bus_message_append(m, "uoss", 1U, path, unit, result) >= 0 && sd_bus_message_set_sender(m, ":1.1") >= 0)
                (void) sd_bus_send(bus, m, NULL);
}

static int manager_answer_job(StandInManager *s, sd_bus_message *m) {
        const JobAnswer *a = s->next < s->n_jobs ? &s->jobs[s->next++] : &(JobAnswer) { .error = "org.example.NotInTheScript" };
        sd_bus *bus = sd_bus_message_get_bus(m);
        const char *unit = "";
        char path[64];

        s->n_log += (size_t) snprintf(s->log + s->n_log, sizeof(s->log) - s->n_log, "%s", sd_bus_message_get_member(m));
        manager_log_value(s, m);
        s->n_log += (size_t) snprintf(s->log + s->n_log, sizeof(s->log) - s->n_log, "\n");
        (void) sd_bus_message_rewind(m, true);
        (void) sd_bus_message_read(m, "s", &unit);

        if (a->error)
                return sd_bus_reply_method_errorf(m, a->error, "No %s for you", unit);

        (void) snprintf(path, sizeof(path), MANAGER_JOB "%zu", s->next);
        (void) sd_bus_reply_method_return(m, "o", path);
        if (a->other_first)
                manager_send_job_removed(bus, MANAGER_JOB "4711", unit, "failed");
        if (a->result)
                manager_send_job_removed(bus, path, unit, a->result);
        if (a->hangs_up) {
                (void) sd_bus_flush(bus);
                sd_bus_close(bus);
        }

        return 1;
}

static int manager_on_message(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const char *member = sd_bus_message_get_member(m) ?: "";
        StandInManager *s = userdata;

        if (streq(member, "Hello"))
                return sd_bus_reply_method_return(m, "s", ":1.99");
        if (streq(member, "StartUnit") || streq(member, "StopUnit") || streq(member, "StartTransientUnit"))
                return manager_answer_job(s, m);
        if (streq(member, "KillUnit")) {
                /* What the last job waited for. */
                char path[64];

                s->kills++;
                (void) snprintf(path, sizeof(path), MANAGER_JOB "%zu", s->next);
                (void) sd_bus_reply_method_return(m, NULL);
                manager_send_job_removed(sd_bus_message_get_bus(m), path, "", "done");
                return 1;
        }
        if (streq(member, "Reload")) {
                s->n_log += (size_t) snprintf(s->log + s->n_log, sizeof(s->log) - s->n_log, "Reload\n");
                return s->reload_error ? sd_bus_reply_method_errorf(m, s->reload_error, "No reload for you") :
                                sd_bus_reply_method_return(m, NULL);
        }
        if (streq(member, "Get")) {
                bool active = !s->inactive || !strstr(sd_bus_message_get_path(m), s->inactive);

                return sd_bus_reply_method_return(m, "v", "s", active ? "active" : "inactive");
        }
        if (sd_bus_message_is_method_call(m, NULL, NULL))
                return sd_bus_reply_method_return(m, NULL);

        return 0;
}

static void *manager_thread(void *userdata) {
        StandInManager *s = userdata;
        sd_bus *bus = NULL;
        int fd, r;

        fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
                return NULL;

        r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_fd(bus, fd, fd);
        if (r >= 0)
                r = sd_bus_set_server(bus, true, (sd_id128_t) { .qwords = { 1, 2 } });
        if (r >= 0)
                r = sd_bus_set_anonymous(bus, true);
        if (r >= 0)
                r = sd_bus_add_filter(bus, NULL, manager_on_message, s);
        if (r >= 0)
                r = sd_bus_start(bus);
        while (r >= 0) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        }

        (void) sd_bus_flush_close_unref(bus);
        return NULL;
}

/* Listens at `path`, for one connection. */
_unused_ static void manager_start(StandInManager *s, const char *path) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };

        assert_true(strlen(path) < sizeof(sa.sun_path));
        (void) strcpy(sa.sun_path, path);
        (void) unlink(path);
        s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(s->listen_fd >= 0);
        assert_int_equal(bind(s->listen_fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        assert_int_equal(listen(s->listen_fd, 1), 0);
        assert_int_equal(pthread_create(&s->thread, NULL, manager_thread, s), 0);
}

/* After the client has closed its end. */
_unused_ static void manager_stop(StandInManager *s) {
        (void) shutdown(s->listen_fd, SHUT_RDWR);
        assert_int_equal(pthread_join(s->thread, NULL), 0);
        s->listen_fd = fd_close(s->listen_fd);
}
