/* SPDX-License-Identifier: MIT */

/* Children for what may take long: the supervisor itself never blocks, so a new launch never waits for the remains of an old
 * one. A child is this program's own image without its descriptors; the journal gets its messages by standard error. */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "supervisor/supervisor.h"
#include "supervisor/sweep.h"

#define BRIDGE_SWEEP_USEC (30 * USEC_PER_SEC) /* a manager that hangs */
#define PLACED_FD 1000 /* above all that the supervisor has: CONNECTIONS_MAX and what belongs to them */

static int run_sweep(const Supervisor *s, const void *argument) {
        return sweep_launch(s->dirs, argument);
}

static int run_sweep_bridge(const Supervisor *s, const void *argument) {
        return sweep_bridge(s->dirs, s->profile, argument);
}

static int run_sweep_containers(const Supervisor *s, const void *argument) {
        return sweep_containers(s->dirs, s->profile);
}

static int run_start_gpg(const Supervisor *s, const void *argument) {
        return start_gpg_agent(s->dirs);
}

void worker_answer(Worker *w, const siginfo_t *si) {
        for (Connection *c = w->supervisor->connections; c; c = c->next)
                if (c->waits_for == w) {
                        c->waits_for = NULL;
                        connection_answer(c, si->si_code == CLD_EXITED && si->si_status == EXIT_SUCCESS);
                }
}

static int on_child(sd_event_source *source, const siginfo_t *si, void *userdata) {
        Worker *w = userdata;
        Supervisor *s = w->supervisor;

        if (w->done)
                w->done(w, si);

        (void) worker_free(w);
        if (s->sweep_again) {
                s->sweep_again = false;
                (void) worker_sweep_all(s);
        }
        supervisor_check_stopped(s);
        return 0;
}

void worker_kill(Worker *w) {
        if (kill(-w->pid, SIGKILL) < 0)
                (void) kill(w->pid, SIGKILL);
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        Worker *w = userdata;

        w->timed_out = true;
        worker_kill(w);
        return 0;
}

/* Out of the way first: one of them may have the number that another one is to get. */
static int place_fds(const WorkerTask *task) {
        for (size_t i = 0; i < task->n_fds; i++) {
                int fd;

                fd = fcntl(task->fds[i], F_DUPFD, PLACED_FD);
                if (fd < 0)
                        return -errno;
                if (fd != PLACED_FD + (int) i && (dup2(fd, PLACED_FD + (int) i) < 0 || close(fd) < 0))
                        return -errno;
        }
        for (size_t i = 0; i < task->n_fds; i++)
                if (dup2(PLACED_FD + (int) i, STDERR_FILENO + 1 + (int) i) < 0)
                        return -errno;

        return fd_close_from(STDERR_FILENO + 1 + (int) task->n_fds);
}

static _noreturn_ void child_main(const Supervisor *s, const WorkerTask *task) {
        sigset_t none;

        /* A group of its own, which can be killed with all that it starts. */
        (void) setpgid(0, 0);
        (void) sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        if (task->output_fd >= 0 && dup2(task->output_fd, STDOUT_FILENO) < 0)
                _exit(EXIT_FAILURE);
        if (place_fds(task) < 0)
                _exit(EXIT_FAILURE);
        _exit(task->run(s, task->argument));
}

static int worker_fork(Worker *w, const WorkerTask *task) {
        Supervisor *s = w->supervisor;
        int r;

        r = strdup_to(&w->name, task->name);
        if (r < 0)
                return r;

        w->pid = fork();
        if (w->pid < 0)
                return -errno;
        if (w->pid == 0)
                child_main(s, task);

        r = sd_event_add_child(s->event, &w->child, w->pid, WEXITED, on_child, w);
        if (r >= 0 && task->timeout_usec > 0)
                r = sd_event_add_time_relative(
                                s->event, &w->timer, CLOCK_MONOTONIC, task->timeout_usec, 0, on_timeout, w);

        return r;
}

int worker_start(Supervisor *s, const WorkerTask *task, Worker **ret) {
        Worker *w;
        int r;

        w = s->n_workers < WORKERS_MAX ? new0(Worker, 1) : NULL;
        if (!w) {
                fd_close(task->output_fd);
                return s->n_workers < WORKERS_MAX ? log_oom() : -EBUSY;
        }

        w->supervisor = s;
        w->run = task->run;
        w->done = task->done;
        w->output_fd = task->output_fd;
        w->next = s->workers;
        s->workers = w;
        s->n_workers++;

        r = worker_fork(w, task);
        if (r < 0) {
                (void) worker_free(w);
                return log_error(r, "Cannot start a child");
        }

        if (ret)
                *ret = w;
        return 0;
}

size_t worker_count(const Supervisor *s, WorkerRun run) {
        size_t n = 0;

        for (const Worker *w = s->workers; w; w = w->next)
                n += w->run == run;

        return n;
}

int worker_sweep(Supervisor *s, const char *name) {
        for (Worker *w = s->workers; w; w = w->next)
                if (w->name && streq(w->name, name))
                        return 0;

        /* Later, when one of the others is done. */
        if (s->n_workers >= WORKERS_MAX)
                s->sweep_again = true;

        return worker_start(s, &(WorkerTask) { .run = run_sweep, .argument = name, .name = name, .output_fd = -EBADF },
                        NULL);
}

static int sweep_if_dead(int base_fd, const char *name, void *userdata) {
        _cleanup_close_ int fd = -EBADF;

        /* Its launcher lives, or has just removed it. */
        fd = launch_dir_claim(base_fd, name);
        if (fd == -EBUSY || fd == -ENOENT)
                return 0;

        log_notice("Clearing away what launch %s left behind.", name);
        (void) worker_sweep(userdata, name);
        return 0;
}

int worker_sweep_all(Supervisor *s) {
        return launch_dir_foreach(s->base_fd, s->profile, sweep_if_dead, s);
}

int worker_sweep_bridge(Supervisor *s, const char *id) {
        return worker_start(s, &(WorkerTask) { .run = run_sweep_bridge, .argument = id, .output_fd = -EBADF,
                        .timeout_usec = BRIDGE_SWEEP_USEC }, NULL);
}

int worker_sweep_containers(Supervisor *s) {
        return worker_start(s, &(WorkerTask) { .run = run_sweep_containers, .output_fd = -EBADF }, NULL);
}

int worker_start_gpg(Connection *c) {
        Supervisor *s = c->supervisor;
        Worker *w;
        int r;

        for (w = s->workers; w; w = w->next)
                if (w->run == run_start_gpg) {
                        c->waits_for = w;
                        return 0;
                }

        r = worker_start(s, &(WorkerTask) { .run = run_start_gpg, .done = worker_answer, .output_fd = -EBADF }, &w);
        if (r >= 0)
                c->waits_for = w;
        return r;
}

Worker *worker_free(Worker *w) {
        Supervisor *s = w->supervisor;

        for (Worker **p = &s->workers; *p; p = &(*p)->next)
                if (*p == w) {
                        *p = w->next;
                        s->n_workers--;
                        break;
                }

        for (Connection *c = s->connections; c; c = c->next)
                if (c->waits_for == w)
                        c->waits_for = NULL;

        (void) sd_event_source_disable_unref(w->child);
        (void) sd_event_source_disable_unref(w->timer);
        fd_close(w->output_fd);
        free(w->name);
        free(w);
        return NULL;
}
