/* SPDX-License-Identifier: MIT */
#pragma once

#include <systemd/sd-event.h>

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/launch-dir.h"
#include "supervisor/request.h"

#define CONNECTIONS_MAX 512
#define WORKERS_MAX 64

typedef struct Supervisor Supervisor;

/* A client: a launcher for its launch's whole life, or somebody who wants the gpg-agent. */
typedef struct Connection {
        Supervisor *supervisor;
        struct Connection *next;
        int fd;
        sd_event_source *io;
        char *buf;
        size_t n, allocated;
        pid_t pid;                     /* of the client */
        bool holds;                    /* has announced a launch */
        bool waits_for_gpg;
        char id[LAUNCH_ID_LENGTH + 1];
        char *directory;
        uint64_t since_usec;           /* CLOCK_MONOTONIC */
        bool done;
        int status;
} Connection;

/* A child that does what may take long. */
typedef struct Worker {
        Supervisor *supervisor;
        struct Worker *next;
        pid_t pid;
        sd_event_source *child;
        char *name;      /* of the launch directory that it sweeps, or NULL */
        bool starts_gpg;
} Worker;

struct Supervisor {
        const char *profile;
        Dirs *dirs;
        sd_event *event;
        int base_fd;
        int listen_fd;
        sd_event_source *accept;
        Connection *connections;
        size_t n_connections;
        Worker *workers;
        size_t n_workers;
        bool sweep_again; /* there were too many workers for another */
        sd_event_source *stop_timer;
        sd_event_source *newborn_watch, *newborn_timer;
        sd_event_source *idle_timer;
        bool stopping;
};

/* Listens, says that it is ready, and then looks for remains of earlier launches. Returns 0 or negative errno. */
int supervisor_new(const char *profile, Supervisor **ret);
int supervisor_run(Supervisor *s);
Supervisor *supervisor_free(Supervisor *s);
DEFINE_CLEANUP(Supervisor *, supervisor_free);
#define _cleanup_supervisor_ _cleanup_(supervisor_freep)

/* Between its files: */

int connection_accept(Supervisor *s);
Connection *connection_free(Connection *c);
void connection_answer(Connection *c, bool ok);

/* Starts a child that sweeps the launch directory `name`, or starts the gpg-agent; nothing if one does already. */
int worker_sweep(Supervisor *s, const char *name);
int worker_sweep_all(Supervisor *s);
int worker_sweep_containers(Supervisor *s);
int worker_start_gpg(Supervisor *s);
Worker *worker_free(Worker *w);

/* Looks after launches whose launcher has not said that it is there: it may die before. */
int newborn_watch(Supervisor *s);

/* Has it end by itself when no launch needs it for a while. Called when it starts and when a connection ends. */
int idle_watch(Supervisor *s);

/* Begins to end: what can be cleared away in time is. */
void supervisor_stop(Supervisor *s);

/* The status text of the unit. */
void supervisor_update_status(Supervisor *s);

/* Ends the event loop once nothing is left to do on the way out. */
void supervisor_check_stopped(Supervisor *s);
