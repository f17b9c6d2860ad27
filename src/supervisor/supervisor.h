/* SPDX-License-Identifier: MIT */
#pragma once

#include <systemd/sd-event.h>

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/host-programs.h"
#include "shared/launch-dir.h"
#include "supervisor/refusals.h"
#include "supervisor/request.h"

#define CONNECTIONS_MAX 512
#define CONNECTIONS_OF_UNIT_MAX 16 /* a bridge wants 9 at most, a launcher 2 */
#define WORKERS_MAX 64

typedef struct Worker Worker;
typedef struct Watch Watch;

/* A client: a launcher for its launch's whole life, or somebody who wants something done. */
typedef struct Connection {
        Supervisor *supervisor;
        struct Connection *next;
        int fd;
        sd_event_source *io;
        char *buf;
        size_t n, allocated;
        pid_t pid;                     /* of the client */
        char *unit;                    /* that it is in, or NULL */
        bool holds;                    /* has announced a launch */
        Worker *waits_for;             /* whose end is the answer to its request */
        Watch *watch;                  /* over its launch's guards; NULL before it asks for that */
        char id[LAUNCH_ID_LENGTH + 1];
        char *directory;
        uint64_t since_usec;           /* CLOCK_MONOTONIC */
        bool done;
        int status;
        Refusals refusals; /* of its launch */
} Connection;

/* What a child does, there: it returns the exit status. And what its end means. */
typedef int (*WorkerRun)(const Supervisor *s, const void *argument);
typedef void (*WorkerDone)(Worker *w, const siginfo_t *si);

typedef struct WorkerTask {
        WorkerRun run;
        const void *argument;
        WorkerDone done;       /* may be NULL */
        const char *name;      /* of the launch directory that it sweeps, or NULL */
        int output_fd;         /* the child's standard output, and the worker's from entry on; -EBADF: the supervisor's own */
        const int *fds;        /* what else the child is given, as 3, 4… */
        size_t n_fds;
        uint64_t timeout_usec; /* then its process group is killed; 0: never */
} WorkerTask;

/* A child that does what may take long. */
struct Worker {
        Supervisor *supervisor;
        Worker *next;
        pid_t pid;
        sd_event_source *child;
        sd_event_source *timer;
        WorkerRun run;
        WorkerDone done;
        char *name;
        int output_fd;
        bool timed_out;
        PasteRequest paste; /* of a worker that pastes */
        PasteProgram paste_program;
};

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
        uint64_t browser_since; /* beginning of the time for which starts of the browser are counted */
        unsigned browser_starts;
        sd_event_source *stop_timer;
        sd_event_source *newborn_watch, *newborn_timer;
        sd_event_source *idle_timer;
        uint64_t complained_usec; /* clients choose how often there is something to complain of */
        Refusals refusals; /* of launches that are not held */
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

/* Answers {"ok":true} with `fd`, which stays the caller's, or {"ok":false} with a reason. */
void connection_answer_fd(Connection *c, int fd);
void connection_answer_reason(Connection *c, const char *reason);

/* Starts a child, owning `output_fd`. Returns 0 or negative errno; `ret` may be NULL. */
int worker_start(Supervisor *s, const WorkerTask *task, Worker **ret);
Worker *worker_free(Worker *w);

/* How many workers run this. */
size_t worker_count(const Supervisor *s, WorkerRun run);

/* Kills the worker with all that it started. */
void worker_kill(Worker *w);

/* Answers everybody who waits for the worker: whether it succeeded. */
void worker_answer(Worker *w, const siginfo_t *si);

/* Starts a child that sweeps the launch directory `name`; nothing if one does already. */
int worker_sweep(Supervisor *s, const char *name);
int worker_sweep_all(Supervisor *s);
int worker_sweep_bridge(Supervisor *s, const char *id);
int worker_sweep_containers(Supervisor *s);

/* What a client asks for: 0, and the answer comes when it is done, or negative errno. */
int worker_start_gpg(Connection *c);
int browser_start(Connection *c, const char *id, const char *url);
int paste_start(Connection *c, const char *id, const char *arguments, const char **ret_reason);

/* Nobody waits for the clipboard's contents any more. */
void paste_abandon(Connection *c);

/* The programs that the launch `id`, which must be held, may use. 0 or negative errno; -EPERM: none. */
int supervisor_read_programs(Supervisor *s, const char *id, HostPrograms *ret);

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
