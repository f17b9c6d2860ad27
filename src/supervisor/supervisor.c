/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "shared/notify.h"
#include "supervisor/supervisor.h"

#define STOP_USEC (3 * USEC_PER_SEC)          /* the unit's TimeoutStopSec= is 5 s */
#define CONTAINER_SWEEP_USEC (10 * USEC_PER_SEC) /* out of the way of the launch that started us */
#define BACKLOG 128

static int on_accept(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        (void) connection_accept(userdata);
        return 0;
}

static int on_stop_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Supervisor *s = userdata;

        log_notice("Leaving %zu things to clear away to the next start.", s->n_workers);
        return sd_event_exit(s->event, 0);
}

void supervisor_stop(Supervisor *s) {
        if (s->stopping)
                return;

        s->stopping = true;
        (void) notify_send("STOPPING=1");
        (void) sd_event_add_time_relative(s->event, &s->stop_timer, CLOCK_MONOTONIC, STOP_USEC, 0, on_stop_timer, s);

        /* Launchers that died before they said anything. */
        (void) worker_sweep_all(s);
        supervisor_check_stopped(s);
}

static int on_sigterm(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        supervisor_stop(userdata);
        return 0;
}

static int on_container_sweep(sd_event_source *source, uint64_t usec, void *userdata) {
        (void) worker_sweep_containers(userdata);
        return 0;
}

int supervisor_read_programs(Supervisor *s, const char *id, HostPrograms *ret) {
        _cleanup_free_ char *name = NULL;
        _cleanup_close_ int fd = -EBADF;
        bool held = false;
        int r;

        for (const Connection *c = s->connections; c && !held; c = c->next)
                held = c->holds && streq(c->id, id);
        if (!held)
                return -EPERM;

        r = asprintf_to(&name, "%s-%s", s->profile, id);
        if (r < 0)
                return r;
        fd = openat(s->base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;

        r = host_programs_read(fd, ret);
        return r == -ENOENT ? -EPERM : r;
}

void supervisor_check_stopped(Supervisor *s) {
        if (s->stopping && s->n_workers == 0)
                (void) sd_event_exit(s->event, 0);
}

void supervisor_update_status(Supervisor *s) {
        char text[2048] = "";
        size_t n = 0, launches = 0;

        for (Connection *c = s->connections; c; c = c->next) {
                _cleanup_free_ char *shown = NULL;

                if (!c->holds)
                        continue;
                launches++;

                shown = str_escape_n(c->directory, strlen(c->directory), 256);
                if (shown && n < sizeof(text))
                        n += (size_t) snprintf(text + n, sizeof(text) - n, "%s%s in %s (pid %d)", n > 0 ? ", " : ": ", c->id,
                                        shown, (int) c->pid);
        }

        if (launches == 0)
                (void) notify_send("STATUS=No launch.");
        else
                (void) notify_sendf("STATUS=%zu launch%s%s", launches, launches == 1 ? "" : "es", text);
}

/* The working directory is the runtime directory, so that a long profile's name fits into sun_path. */
static int listen_on_socket(Supervisor *s) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        _cleanup_close_ int fd = -EBADF;
        int n;

        n = snprintf(sa.sun_path, sizeof(sa.sun_path), "%s.sock", s->profile);
        if (n < 0 || (size_t) n >= sizeof(sa.sun_path))
                return -ENAMETOOLONG;
        if (fchdir(s->base_fd) < 0)
                return -errno;

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;

        /* The manager runs one supervisor a profile: a socket that is here is a dead one's, unless somebody answers. */
        if (connect(fd, (struct sockaddr *) &sa, sizeof(sa)) >= 0 || errno == EAGAIN)
                return -EADDRINUSE;
        (void) unlink(sa.sun_path);
        (void) umask(0077);
        if (bind(fd, (struct sockaddr *) &sa, sizeof(sa)) < 0 || listen(fd, BACKLOG) < 0)
                return -errno;

        s->listen_fd = TAKE_FD(fd);
        return sd_event_add_io(s->event, &s->accept, s->listen_fd, EPOLLIN, on_accept, s);
}

/* After everything else: the last launch's "done" is often here together with the stop that follows from it. */
static int watch_signal(Supervisor *s, int signal) {
        _cleanup_(sd_event_source_unrefp) sd_event_source *source = NULL;
        int r;

        r = sd_event_add_signal(s->event, &source, signal, on_sigterm, s);
        if (r >= 0)
                r = sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE);
        if (r >= 0)
                r = sd_event_source_set_floating(source, true);

        return r;
}

static int set_up_event(Supervisor *s) {
        sigset_t set;
        int r;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGTERM);
        (void) sigaddset(&set, SIGINT);
        (void) sigaddset(&set, SIGCHLD);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;

        r = sd_event_new(&s->event);
        if (r >= 0)
                r = watch_signal(s, SIGTERM);
        if (r >= 0)
                r = watch_signal(s, SIGINT);
        if (r >= 0)
                r = sd_event_add_time_relative(s->event, NULL, CLOCK_MONOTONIC, CONTAINER_SWEEP_USEC, 0, on_container_sweep, s);

        return r;
}

int supervisor_new(const char *profile, Supervisor **ret) {
        _cleanup_supervisor_ Supervisor *s = NULL;
        int r;

        s = new0(Supervisor, 1);
        if (!s)
                return log_oom();
        s->profile = profile;
        s->base_fd = s->listen_fd = -EBADF;

        r = dirs_load(&s->dirs);
        if (r < 0)
                return log_error(r, "Cannot tell this user's directories");
        s->base_fd = launch_base_open(s->dirs);
        if (s->base_fd < 0)
                return log_error(s->base_fd, "Cannot use the runtime directory");

        r = set_up_event(s);
        if (r >= 0)
                r = listen_on_socket(s);
        if (r < 0)
                return log_error(r, "Cannot listen on the socket of profile %s", profile);

        *ret = TAKE_PTR(s);
        return 0;
}

int supervisor_run(Supervisor *s) {
        int r;

        (void) sd_notify(0, "READY=1\nSTATUS=No launch.");

        /* After READY=1: the launch that started us waits for it. Its own directory is locked, so it is no remain. */
        (void) worker_sweep_all(s);
        r = newborn_watch(s);
        if (r < 0)
                (void) log_error(r, "Cannot watch %s", s->dirs->runtime);
        (void) idle_watch(s);

        r = sd_event_loop(s->event);
        return r < 0 ? log_error(r, "The event loop failed") : r;
}

static void remove_socket(Supervisor *s) {
        _cleanup_free_ char *name = NULL;

        if (asprintf_to(&name, "%s.sock", s->profile) >= 0)
                (void) unlinkat(s->base_fd, name, 0);
}

Supervisor *supervisor_free(Supervisor *s) {
        if (!s)
                return NULL;

        while (s->connections)
                (void) connection_free(s->connections);
        while (s->workers)
                (void) worker_free(s->workers);
        refusals_clear(&s->refusals);

        (void) sd_event_source_disable_unref(s->accept);
        (void) sd_event_source_disable_unref(s->stop_timer);
        (void) sd_event_source_disable_unref(s->newborn_watch);
        (void) sd_event_source_disable_unref(s->newborn_timer);
        (void) sd_event_source_disable_unref(s->idle_timer);
        (void) sd_event_unref(s->event);
        if (s->listen_fd >= 0)
                remove_socket(s);
        fd_close(s->listen_fd);
        fd_close(s->base_fd);
        (void) dirs_free(s->dirs);
        free(s);
        return NULL;
}
