/* SPDX-License-Identifier: MIT */

/* Children for what may take long: the supervisor itself never blocks, so a new launch never waits for the remains of an old
 * one. A child is this program's own image without its descriptors; the journal gets its messages by standard error. */

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

typedef int (*WorkerMain)(const Supervisor *s, const char *name);

static int main_sweep(const Supervisor *s, const char *name) {
        return sweep_launch(s->dirs, name);
}

static int main_sweep_containers(const Supervisor *s, const char *name) {
        return sweep_containers(s->dirs, s->profile);
}

static int main_start_gpg(const Supervisor *s, const char *name) {
        return start_gpg_agent(s->dirs);
}

static void answer_gpg(Supervisor *s, bool ok) {
        for (Connection *c = s->connections; c; c = c->next)
                if (c->waits_for_gpg) {
                        c->waits_for_gpg = false;
                        connection_answer(c, ok);
                }
}

static int on_child(sd_event_source *source, const siginfo_t *si, void *userdata) {
        Worker *w = userdata;
        Supervisor *s = w->supervisor;

        if (w->starts_gpg)
                answer_gpg(s, si->si_code == CLD_EXITED && si->si_status == EXIT_SUCCESS);

        (void) worker_free(w);
        if (s->sweep_again) {
                s->sweep_again = false;
                (void) worker_sweep_all(s);
        }
        supervisor_check_stopped(s);
        return 0;
}

static int worker_start(Supervisor *s, WorkerMain f, const char *name, Worker **ret) {
        Worker *w;
        int r;

        if (s->n_workers >= WORKERS_MAX)
                return -EBUSY;
        w = new0(Worker, 1);
        if (!w)
                return log_oom();

        w->supervisor = s;
        w->next = s->workers;
        s->workers = w;
        s->n_workers++;

        r = strdup_to(&w->name, name);
        if (r >= 0) {
                w->pid = fork();
                r = w->pid < 0 ? -errno : 0;
        }
        if (r >= 0 && w->pid == 0) {
                sigset_t none;

                (void) sigemptyset(&none);
                (void) sigprocmask(SIG_SETMASK, &none, NULL);
                (void) fd_close_from(STDERR_FILENO + 1);
                _exit(f(s, name));
        }
        if (r >= 0)
                r = sd_event_add_child(s->event, &w->child, w->pid, WEXITED, on_child, w);
        if (r < 0) {
                (void) worker_free(w);
                return log_error(r, "Cannot start a child");
        }

        if (ret)
                *ret = w;
        return 0;
}

int worker_sweep(Supervisor *s, const char *name) {
        for (Worker *w = s->workers; w; w = w->next)
                if (w->name && streq(w->name, name))
                        return 0;

        /* Later, when one of the others is done. */
        if (s->n_workers >= WORKERS_MAX)
                s->sweep_again = true;

        return worker_start(s, main_sweep, name, NULL);
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

int worker_sweep_containers(Supervisor *s) {
        return worker_start(s, main_sweep_containers, NULL, NULL);
}

int worker_start_gpg(Supervisor *s) {
        Worker *w;
        int r;

        for (w = s->workers; w; w = w->next)
                if (w->starts_gpg)
                        return 0;

        r = worker_start(s, main_start_gpg, NULL, &w);
        if (r >= 0)
                w->starts_gpg = true;
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

        (void) sd_event_source_disable_unref(w->child);
        free(w->name);
        free(w);
        return NULL;
}
