/* SPDX-License-Identifier: MIT */

/* The launcher while podman runs. What can happen, and what follows:
 *
 *   conmon writes the container's pid   its mounts are compared with the plan, its network is looked at; all well: the supervisor
 *                                       is asked to keep the guards
 *   the supervisor keeps them           the go appears
 *   the supervisor cannot any more      it has killed the guest, and says why; that is passed on
 *   the entry point opens the go        the guest has taken over: from here on every exit status is the guest's
 *   RequestStop, SIGTERM, SIGHUP        one signal goes on to podman, which passes it to the guest; 9 s later, or at the
 *                                       next such signal, the guest's control group is killed
 *   conmon ends, podman does not        somebody killed conmon: the group is killed
 *   pasta ends, the container does not  the network is gone: the session is told, and goes on
 *   podman ends                         what is left in the group is killed; a container left over is removed; had the guest
 *                                       not taken over, podman's status is no guest's
 *   the supervisor's line breaks        it was restarted: the guest is frozen, connect anew, go on when the guards are kept again
 *                                       (supervisor-line.c)
 *
 * A signal that the terminal sent (the kernel is its sender) reached podman too, which shares our process group; only those
 * that somebody sent to us are passed on. One that a shell sent to the whole job arrives twice: the entry point counts two of
 * a kind at once as one. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/guest-run.h"
#include "launch/launch-files.h"
#include "launch/mount-check.h"
#include "launch/network.h"
#include "launch/podman-spawn.h"
#include "launch/trust-report.h"
#include "shared/bus.h"
#include "shared/cgroup.h"

#define CHECK_INTERVAL_USEC (2 * USEC_PER_MSEC)
#define CHECK_USEC (15 * USEC_PER_SEC)
#define CONMON_GRACE_USEC (2 * USEC_PER_SEC)
#define PASTA_GRACE_USEC (1 * USEC_PER_SEC) /* it ends with the container, too */
#define EMPTY_USEC (5 * USEC_PER_SEC)

typedef enum RunState {
        RUN_CREATING,  /* podman makes the container; its mounts are not checked yet */
        RUN_WAITING,   /* the go is given, the entry point has not seen it */
        RUN_GUEST,     /* the guest runs */
        RUN_STOPPING,  /* it has been told to end */
        RUN_KILLED,
        _RUN_STATE_MAX,
} RunState;

static const char *const run_state_names[] = {
        [RUN_CREATING] = "creating",
        [RUN_WAITING] = "waiting",
        [RUN_GUEST] = "guest",
        [RUN_STOPPING] = "stopping",
        [RUN_KILLED] = "killed",
};
static_assert(ELEMENTSOF(run_state_names) == _RUN_STATE_MAX, "a name for each state");

typedef struct Run {
        const GuestRunOptions *options;
        RunState state;
        bool taken_over;
        bool left;           /* something that could not be cleared away */
        sd_event *event;
        pid_t podman;
        int status;          /* of podman, as waitid() has it */
        bool by_signal;
        pid_t container;
        int inotify_fd, conmon_fd, container_fd, pasta_fd; /* the latter three are pidfds */
        int watch_launch, watch_go;
        sd_event_source *check_timer, *stop_timer;
        uint64_t check_deadline;
        int error;
} Run;

static void run_set_state(Run *r, RunState state) {
        log_debug("launch %s: %s → %s", r->options->plan->id, run_state_names[r->state], run_state_names[state]);
        r->state = state;
}

static void run_kill(Run *run) {
        int r;

        if (run->state == RUN_KILLED)
                return;

        run_set_state(run, RUN_KILLED);
        r = cgroup_kill(run->options->guest_cgroup_fd);
        if (r < 0)
                (void) log_error(r, "Cannot kill the sandbox's processes");
}

static int on_stop_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        log_notice("The sandbox did not end within %u s and is killed.", (unsigned) (SANDBOX_STOP_USEC / USEC_PER_SEC));
        run_kill(userdata);
        return 0;
}

/* The first request is passed on, unless podman has it already (`signal` 0); the second one kills. */
static void run_stop(Run *run, int signal) {
        if (run->state == RUN_CREATING || run->state == RUN_WAITING || run->state == RUN_STOPPING) {
                /* Nothing in there could use the time, or it was told before. */
                run_kill(run);
                return;
        }
        if (run->state != RUN_GUEST)
                return;

        run_set_state(run, RUN_STOPPING);
        if (signal > 0)
                (void) kill(run->podman, signal);
        (void) sd_event_add_time_relative(run->event, &run->stop_timer, CLOCK_MONOTONIC, SANDBOX_STOP_USEC, 0, on_stop_timer, run);
}

static int on_request_stop(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        run_stop(userdata, SIGTERM);
        return 0;
}

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata) {
        /* A terminal that goes away tells its session's leader alone. */
        bool from_terminal = si->ssi_code == SI_KERNEL && !(si->ssi_signo == SIGHUP && getsid(0) == getpid());
        int signal = (int) si->ssi_signo;
        Run *run = userdata;

        /* Before the guest runs, nobody else would obey an interrupt. */
        if (signal == SIGTERM || signal == SIGHUP || run->state < RUN_GUEST)
                run_stop(run, from_terminal ? 0 : signal);
        else if (!from_terminal)
                (void) kill(run->podman, signal);
        return 0;
}

static int on_podman(sd_event_source *s, const siginfo_t *si, void *userdata) {
        Run *run = userdata;

        run->by_signal = si->si_code != CLD_EXITED;
        run->status = run->by_signal ? 128 + si->si_status : si->si_status;
        return sd_event_exit(run->event, 0);
}

static int on_conmon_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        log_warning("conmon, the container's monitor, has died; the sandbox is ended.");
        run_kill(userdata);
        return 0;
}

static int on_conmon(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Run *run = userdata;

        (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return sd_event_add_time_relative(run->event, NULL, CLOCK_MONOTONIC, CONMON_GRACE_USEC, 0, on_conmon_timer, run);
}

static bool container_is_alive(const Run *run) {
        struct pollfd pfd = { .fd = run->container_fd, .events = POLLIN };

        return run->container_fd >= 0 && poll(&pfd, 1, 0) == 0;
}

static int on_pasta_timer(sd_event_source *s, uint64_t usec, void *userdata) {
        Run *run = userdata;

        if (run->state == RUN_GUEST && container_is_alive(run))
                log_warning("pasta, the sandbox's network, has died: the sandbox goes on without a network.");
        return 0;
}

static int on_pasta(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        Run *run = userdata;

        (void) sd_event_source_set_enabled(s, SD_EVENT_OFF);
        return sd_event_add_time_relative(run->event, NULL, CLOCK_MONOTONIC, PASTA_GRACE_USEC, 0, on_pasta_timer, run);
}

static int give_go(Run *run) {
        int r;

        run->pasta_fd = network_helper_open(run->options->guest_cgroup_fd);
        if (run->pasta_fd >= 0)
                (void) sd_event_add_io(run->event, NULL, run->pasta_fd, EPOLLIN, on_pasta, run);

        r = launch_go_give(run->options->launch_fd);
        if (r >= 0)
                run_set_state(run, RUN_WAITING);
        return r;
}

/* On every supervisor's word; only the first one's lets the guest begin. */
static void on_guarded(void *userdata, int error, const char *why) {
        _cleanup_free_ char *fault = NULL;
        Run *run = userdata;

        if (error >= 0 && run->state == RUN_CREATING && guest_run_pending_signal() == 0) {
                /* What was lifted before the supervisor began to watch; from here on it hears of it. */
                error = mounts_check(run->options->plan, run->container, &fault);
                if (error >= 0)
                        error = give_go(run);
        }
        if (error >= 0 || run->state == RUN_KILLED)
                return;

        if (fault)
                run->error = log_error(error, "%s The sandbox was not started.", fault);
        else
                run->error = why ? log_error(error, "The sandbox is ended, because a guard cannot be kept in place: %s.", why) :
                        log_error(error, "The sandbox is ended, because its supervisor does not keep its guards in place");
        run_kill(run);
}

/* The container's pid is written before its mounts are made, so the comparison is repeated until it holds, or the guest program,
 * which waits, shows that the mounts are all there. */
static int on_check(sd_event_source *s, uint64_t usec, void *userdata) {
        _cleanup_free_ char *why = NULL;
        Run *run = userdata;
        int r;

        if (run->state != RUN_CREATING)
                return 0;

        r = mounts_check(run->options->plan, run->container, &why);
        if (r >= 0) {
                if (guest_run_pending_signal() > 0)
                        return 0; /* on_signal() is next, and ends it */
                r = network_check(run->container, &why);
                log_debug("launch %s: the mounts are as planned, the supervisor is asked to keep the guards", run->options->plan->id);
                if (r >= 0)
                        r = supervisor_line_guard(run->options->supervisor, run->options->guest_cgroup_fd, on_guarded, run);
                if (r >= 0)
                        return 0;
        } else if (usec < run->check_deadline && (r == -EAGAIN || r == -ENOENT)) {
                (void) sd_event_source_set_time(s, usec + CHECK_INTERVAL_USEC);
                return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
        }

        run->error = why ? log_error(r, "%s The sandbox was not started.", why) :
                log_error(r, "Cannot compare the sandbox's mounts and network with what was planned");
        run_kill(run);
        return 0;
}

static void on_container_pid(Run *run) {
        uint64_t now;
        int r;

        if (run->check_timer)
                return;
        r = launch_dir_read_pid(run->options->launch_fd, LAUNCH_FILE_PID, &run->container);
        if (r == -EINVAL || r == -ENOENT)
                return; /* not written yet */
        if (r < 0) {
                run->error = log_error(r, "Cannot read %s/pid", run->options->plan->launch_path);
                run_kill(run);
                return;
        }

        run->container_fd = (int) syscall(SYS_pidfd_open, run->container, 0);
        (void) sd_event_now(run->event, CLOCK_MONOTONIC, &now);
        run->check_deadline = now + CHECK_USEC;
        (void) sd_event_add_time(run->event, &run->check_timer, CLOCK_MONOTONIC, now, 1, on_check, run);
}

static void on_conmon_pid(Run *run) {
        pid_t pid;

        if (run->conmon_fd >= 0 || launch_dir_read_pid(run->options->launch_fd, "conmon.pid", &pid) < 0)
                return;

        run->conmon_fd = (int) syscall(SYS_pidfd_open, pid, 0);
        if (run->conmon_fd >= 0)
                (void) sd_event_add_io(run->event, NULL, run->conmon_fd, EPOLLIN, on_conmon, run);
}

static int on_inotify(sd_event_source *s, int fd, uint32_t revents, void *userdata) {
        _Alignas(struct inotify_event) char buf[4096];
        Run *run = userdata;
        ssize_t n;

        n = read(fd, buf, sizeof(buf));
        for (char *p = buf; n > 0 && p < buf + n;) {
                const struct inotify_event *e = (const struct inotify_event *) p;

                if (e->wd == run->watch_go && (e->mask & IN_OPEN) && !run->taken_over) {
                        run->taken_over = true;
                        if (run->state == RUN_WAITING)
                                run_set_state(run, RUN_GUEST);
                } else if (e->wd == run->watch_launch && e->len > 0) {
                        if (streq(e->name, "pid"))
                                on_container_pid(run);
                        else if (streq(e->name, "conmon.pid"))
                                on_conmon_pid(run);
                }

                p += sizeof(*e) + e->len;
        }

        return 0;
}

static const int signals[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };

int guest_run_block_signals(void) {
        sigset_t set;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGCHLD);
        for (size_t i = 0; i < ELEMENTSOF(signals); i++)
                (void) sigaddset(&set, signals[i]);

        return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

int guest_run_pending_signal(void) {
        sigset_t set;

        if (sigpending(&set) < 0)
                return 0;
        for (size_t i = 0; i < ELEMENTSOF(signals); i++)
                if (sigismember(&set, signals[i]) > 0)
                        return signals[i];

        return 0;
}

static int watch_signals(Run *run) {
        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                int r;

                r = sd_event_add_signal(run->event, NULL, signals[i], on_signal, run);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int watch_files(Run *run) {
        _cleanup_close_ int go_fd = -EBADF;
        char path[64];

        run->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (run->inotify_fd < 0)
                return -errno;

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", run->options->launch_fd);
        run->watch_launch = inotify_add_watch(run->inotify_fd, path, IN_CLOSE_WRITE | IN_MOVED_TO);
        if (run->watch_launch < 0)
                return -errno;

        go_fd = launch_go_prepare(run->options->launch_fd);
        if (go_fd < 0)
                return go_fd;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", go_fd);
        run->watch_go = inotify_add_watch(run->inotify_fd, path, IN_OPEN);
        if (run->watch_go < 0)
                return -errno;

        return sd_event_add_io(run->event, NULL, run->inotify_fd, EPOLLIN, on_inotify, run);
}

static int watch_bus(Run *run) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = sd_bus_attach_event(run->options->bus, run->event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", run->options->plan->units.scope, &path);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(run->options->bus, NULL, MANAGER_NAME, path, "org.freedesktop.systemd1.Scope", "RequestStop",
                        on_request_stop, run);
        if (r < 0)
                return r;

        return supervisor_line_watch(run->options->supervisor, run->event);
}

/* Ends what podman left running, and what it left in its database. A podman that ended before its container lost it: its status
 * says nothing about the guest, which is killed here. */
static void run_clean_up(Run *run) {
        const GuestRunOptions *o = run->options;
        bool lost = container_is_alive(run);
        int r;

        (void) cgroup_kill(o->guest_cgroup_fd);
        r = cgroup_wait_empty(o->guest_cgroup_fd, EMPTY_USEC);
        if (r < 0) {
                run->left = true;
                (void) log_error(r, "Some of the sandbox's processes do not end; the supervisor goes on");
        }

        if (lost && run->state != RUN_KILLED) {
                log_warning("podman ended before its container did; the sandbox is ended.");
                run->status = 128 + SIGKILL;
        }
        if (!lost && !run->by_signal && run->state != RUN_KILLED)
                return;
        r = podman_remove_launch(o->podman, o->plan->request->profile->name, o->plan->id);
        if (r < 0) {
                run->left = true;
                (void) log_error(r, "Cannot remove the container %s; the supervisor tries again", o->plan->container);
        }
}

/* It is heard of after what has happened before it: that the guest has taken over. */
static int watch_podman(Run *run) {
        sd_event_source *source;
        int r;

        r = sd_event_add_child(run->event, &source, run->podman, WEXITED, on_podman, run);
        if (r < 0)
                return r;

        r = sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE);
        if (r >= 0)
                r = sd_event_source_set_floating(source, true);
        sd_event_source_unref(source);
        return r;
}

static int run_loop(Run *run) {
        int r;

        r = watch_signals(run);
        if (r >= 0)
                r = watch_files(run);
        if (r >= 0)
                r = watch_bus(run);
        if (r < 0)
                return log_error(r, "Cannot watch the sandbox");

        r = podman_spawn(run->options, &run->podman);
        if (r == -ENOENT)
                return log_error(r, "%s is not installed. Install podman 5 with pasta, or name it in CLAUDE_PROFILE_PODMAN_BIN.",
                                run->options->podman->program);
        if (r < 0)
                return log_error(r, "Cannot start %s", run->options->podman->program);

        r = watch_podman(run);
        if (r >= 0) {
                /* While podman is at work, and before the go, which only the loop gives. */
                run->error = trust_report_begin(run->options->plan, run->options->launch_fd);
                if (run->error < 0)
                        run_kill(run);
                r = sd_event_loop(run->event);
        }
        if (r < 0) {
                run_kill(run);
                return log_error(r, "Cannot watch the sandbox");
        }

        run_clean_up(run);
        return run->error;
}

int guest_run(const GuestRunOptions *options, int *ret_status, bool *ret_left) {
        Run run = { .options = options, .inotify_fd = -EBADF, .conmon_fd = -EBADF, .container_fd = -EBADF,
                .pasta_fd = -EBADF };
        int r;

        r = sd_event_new(&run.event);
        if (r < 0)
                return log_error(r, "Cannot make an event loop");

        r = run_loop(&run);
        if (r >= 0 && !run.taken_over && !run.by_signal && run.state != RUN_KILLED)
                r = podman_explain_early_end(options, run.status);
        if (r >= 0)
                *ret_status = run.status;

        *ret_left = run.left;
        (void) sd_bus_detach_event(options->bus);
        (void) sd_event_unref(run.event);
        fd_close(run.inotify_fd);
        fd_close(run.conmon_fd);
        fd_close(run.container_fd);
        fd_close(run.pasta_fd);
        return r;
}
