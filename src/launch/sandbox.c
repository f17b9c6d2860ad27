/* SPDX-License-Identifier: MIT */

/* A sandboxed launch from beginning to end. First everything that can refuse, then what leaves traces, in this order:
 *
 *   the scope is asked for      this process becomes part of it, the supervisor is started with it
 *   the plan                    while the manager works (plan.c)
 *   the launch directory        its lock is this launch's sign of life; the report's state before is kept in it
 *   the line to the supervisor  from here on somebody clears away whatever happens to this process
 *   the socket                  its bridge comes with the first connection
 *   podman                      guest-run.c, until the guest has ended
 *   the report                  what of the host-trusted things is not as it was (trust-report.c)
 *
 * Every step undoes itself when a later one fails: the launch directory is removed here, the scope ends with this process, and
 * socket and bridge end with the scope. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/guest-run.h"
#include "launch/launch-files.h"
#include "launch/launch-limits.h"
#include "launch/launch-units.h"
#include "launch/memory-report.h"
#include "launch/terminal.h"
#include "launch/trust-report.h"
#include "shared/cgroup.h"
#include "shared/lock.h"
#include "shared/rm-rf.h"

typedef struct Launch {
        Plan *plan;
        sd_bus *bus;
        Job scope_job;
        PodmanAccess podman;
        bool scope_asked;
        char *cgroup;      /* of the scope, once it is there */
        int base_fd;       /* all launch directories */
        int dir_fd;        /* this one, locked */
        SupervisorLine supervisor;
        int guest_cgroup_fd;
        int native_fd;
        BridgeSocket socket;
        MemoryWatch memory;
        bool left;         /* the supervisor is to clear away: to it this launch just breaks off */
        uint64_t begin_usec;
        uint64_t jobs_usec; /* spent on the manager's two jobs */
} Launch;

static int check_isolation(const Settings *s) {
        if (s->isolation == ISOLATION_CONTAINER) {
                log_notice("Isolation is \"container\": the sandbox shares this machine's kernel.");
                return 0;
        }

        if (access("/dev/kvm", R_OK | W_OK) >= 0)
                return 0;
        return log_error(-errno, "Isolation is \"krun\", a microVM, but /dev/kvm cannot be used (%s). %s "
                        "A weaker sandbox that shares the host's kernel: CLAUDE_PROFILE_SANDBOX_ISOLATION=container.",
                        strerror(errno), errno == EACCES ? "Become a member of the group kvm and log in again." :
                        "Switch virtualization on in the firmware and load the module kvm.");
}

static int connect_manager(const Dirs *dirs, sd_bus **ret) {
        int r;

        r = user_bus_open(dirs, ret);
        if (r == -ENOMEDIUM)
                return log_error(r, "XDG_RUNTIME_DIR is not set to a directory of yours, so there is no user manager to run a sandbox in. "
                                "Log in properly (ssh, a console, machinectl shell %s@; not su or sudo), or: loginctl enable-linger.",
                                "user");
        if (r < 0)
                return log_error(r, "No user manager answers at %s/bus (%s), and a sandbox needs one. "
                                "Log in properly (ssh, a console; not su or sudo), or: loginctl enable-linger.",
                                dirs->runtime_root, strerror(-r));
        return 0;
}

/* Under the lock of shared/lock.h: a command that changes the profile sees either no launch yet, or this one. */
static int make_launch_directory(Launch *l) {
        const Profile *profile = l->plan->request->profile;
        const char *name = path_last(l->plan->launch_path);
        _cleanup_close_ int lock_fd = -EBADF;
        struct stat opened, there;
        int r;

        lock_fd = profiles_lock(l->plan->request->dirs, PROFILES_LAUNCH);
        if (lock_fd < 0)
                return log_error(lock_fd, "Cannot take the lock %s/lock", l->plan->request->dirs->data);
        if (fstat(profile->fd, &opened) < 0 || lstat(profile->path, &there) < 0 || opened.st_dev != there.st_dev ||
                        opened.st_ino != there.st_ino)
                return log_error(-ENOENT, "The profile %s has just been removed.", profile->name);

        l->base_fd = launch_base_open(l->plan->request->dirs);
        if (l->base_fd < 0)
                return log_error(l->base_fd, "Cannot use %s", l->plan->request->dirs->runtime);

        r = launch_dir_create(l->base_fd, name);
        if (r < 0)
                return log_error(r, "Cannot make the launch directory %s", l->plan->launch_path);
        l->dir_fd = r;
        return 0;
}

/* Signals are held back until guest_run(); what takes seconds when somebody does not answer is not to be endured until then. */
static int check_interrupt(int r) {
        return r >= 0 && guest_run_pending_signal() > 0 ? -EINTR : r;
}

/* That it answers shows that it runs. */
static int open_line(Launch *l) {
        const char *unit = l->plan->units.supervisor;
        _cleanup_free_ char *why = NULL;
        int r;

        r = supervisor_line_open(&l->supervisor, l->plan);
        if (r < 0) {
                /* It was about to end: it does so when no launch seems to need it. */
                r = unit_start(l->bus, unit, guest_run_pending_signal, &why);
                if (r >= 0)
                        r = supervisor_line_open(&l->supervisor, l->plan);
        }
        if (r == -EINTR)
                return r;

        return r < 0 ? log_error(r, "The supervisor %s does not answer. See: journalctl --user -u %s .", unit, unit) : 0;
}

/* What depends on neither scope nor supervisor is decided while the manager starts them. */
static int plan_and_enter(Launch *l) {
        uint64_t before_usec;
        Plan *p = l->plan;
        int r;

        r = user_bus_wait(l->bus, guest_run_pending_signal);
        if (r >= 0)
                r = scope_request(l->bus, p, &l->scope_job);
        if (r == -EINTR)
                return r;
        if (r < 0)
                return log_error(r, "Cannot ask the user manager for the scope %s", p->units.scope);

        l->scope_asked = true;
        r = plan_parts(p);
        if (r >= 0 && p->n_services > 0)
                (void) bridge_socket_request(l->bus, p, &l->socket); /* start_bridge() sees what came of it */
        if (r >= 0)
                r = launch_data_prepare(p, &l->native_fd);
        r = check_interrupt(r);
        if (r < 0)
                return r;

        before_usec = now_usec();
        r = scope_wait(l->bus, p, &l->scope_job, &l->cgroup);
        if (r < 0)
                return r;
        l->jobs_usec += now_usec() - before_usec;

        r = open_line(l);
        if (r < 0)
                return r;

        if (p->request->settings->gpg_agent)
                r = plan_gpg(p);
        if (r >= 0)
                r = plan_git(p); /* it wants to know whether the guest can sign */
        return r;
}

static int start_bridge(Launch *l) {
        uint64_t before_usec = now_usec();
        int r;

        if (l->plan->n_services == 0)
                return 0;

        r = bridge_socket_wait(l->bus, l->plan, &l->socket);
        if (r < 0)
                return r;
        l->jobs_usec += now_usec() - before_usec;

        return launch_bridge_files_write(l->plan, l->dir_fd, l->cgroup, l->socket.port);
}

static int prepare(Launch *l) {
        int r;

        r = podman_environment(&l->podman.environment);
        if (r >= 0)
                r = strdup_to(&l->podman.program, l->plan->request->settings->podman_bin);
        if (r < 0)
                return log_oom();

        /* The bus answers while the work root is looked for. */
        r = connect_manager(l->plan->request->dirs, &l->bus);
        if (r >= 0)
                r = plan_work_root(l->plan);
        if (r >= 0)
                r = plan_git_ask(l->plan);
        if (r >= 0)
                r = check_isolation(l->plan->request->settings);
        if (r >= 0)
                r = guest_run_block_signals();
        if (r >= 0)
                r = make_launch_directory(l);
        if (r >= 0)
                r = plan_and_enter(l);
        r = check_interrupt(r);
        if (r >= 0)
                r = launch_files_write(l->plan, l->dir_fd, &l->podman);
        if (r >= 0)
                r = start_bridge(l);
        if (r < 0)
                return r;

        l->guest_cgroup_fd = cgroup_enter(l->cgroup);
        if (l->guest_cgroup_fd < 0)
                return log_error(l->guest_cgroup_fd, "Cannot divide the control group %s", l->cgroup);
        if (memory_watch_begin(&l->memory, CGROUP_ROOT, l->cgroup) < 0)
                return log_oom();
        limits_check(l->plan, l->cgroup);

        log_debug("launch %s: podman is started after %llu us, %llu us of them spent on the manager's jobs", l->plan->id,
                        (unsigned long long) (now_usec() - l->begin_usec), (unsigned long long) l->jobs_usec);
        return 0;
}

/* The scope is still there, for this process is in it. */
static void tell_of_memory(const Launch *l) {
        _cleanup_free_ char *sentence = NULL;

        if (memory_watch_describe(&l->memory, CGROUP_ROOT, l->plan->request->profile->name, &sentence) >= 0 && sentence)
                log_warning("%s", sentence);
}

static void launch_end(Launch *l, int status) {
        if (l->dir_fd >= 0 && !l->left) {
                int r;

                trust_report_end(l->plan, l->dir_fd);
                r = rm_rf_at(l->base_fd, path_last(l->plan->launch_path));
                if (r < 0)
                        (void) log_error(r, "Cannot remove %s", l->plan->launch_path);
        }
        supervisor_line_close(&l->supervisor, l->left ? -1 : status);

        if (l->scope_asked && !l->cgroup)
                scope_abandon(l->bus, l->plan);

        fd_close(l->base_fd);
        fd_close(l->dir_fd);
        fd_close(l->guest_cgroup_fd);
        fd_close(l->native_fd);
        job_clear(&l->scope_job);
        job_clear(&l->socket.job);
        if (l->bus)
                (void) sd_bus_close_unref(l->bus); /* nothing waits to be sent, and a flush has no bound */
        podman_access_clear(&l->podman);
        memory_watch_clear(&l->memory);
        free(l->cgroup);
        (void) plan_free(l->plan);
}

int launch_sandboxed(const LaunchRequest *request, int *ret_status) {
        Launch l = { .base_fd = -EBADF, .dir_fd = -EBADF, .supervisor.fd = -EBADF, .guest_cgroup_fd = -EBADF, .native_fd = -EBADF,
                .begin_usec = now_usec() };
        TerminalModes terminal;
        int r, status = 255;

        r = plan_new(request, &l.plan);
        if (r < 0)
                return r;

        trust_report_left(request);
        terminal_save(&terminal);
        r = prepare(&l);
        if (r == -EINTR) {
                log_notice("Interrupted; the sandbox was not started.");
                status = 128 + guest_run_pending_signal();
                r = 0;
        } else if (r >= 0)
                r = guest_run(&(GuestRunOptions) {
                                .plan = l.plan, .podman = &l.podman, .bus = l.bus, .launch_fd = l.dir_fd,
                                .guest_cgroup_fd = l.guest_cgroup_fd, .supervisor = &l.supervisor, .port = l.socket.port },
                                &status, &l.left);
        terminal_restore(&terminal);
        tell_of_memory(&l);
        launch_end(&l, status);
        if (r < 0)
                return r;

        *ret_status = status;
        return 0;
}
