/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/launch-files.h"
#include "launch/podman-spawn.h"
#include "shared/cgroup.h"
#include "shared/subprocess.h"

#define FAULT_MAX (16 * KIB)

/* podman's own exit statuses, podman-run(1). */
#define PODMAN_STATUS_FIRST 125
#define PODMAN_STATUS_LAST 127

static void _noreturn_ child_exec(const GuestRunOptions *o, char *const *argv, int error_fd, pid_t launcher) {
        sigset_t none;
        int r;

        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != launcher)
                _exit(125);

        r = cgroup_join(o->guest_cgroup_fd);
        if (r >= 0)
                r = child_close_on_exec();
        if (r >= 0) {
                (void) sigemptyset(&none);
                (void) sigprocmask(SIG_SETMASK, &none, NULL);
                (void) execvpe(argv[0], argv, o->podman->environment);
                r = -errno;
        }

        (void) io_write_all(error_fd, &r, sizeof(r));
        _exit(125);
}

int podman_spawn(const GuestRunOptions *options, pid_t *ret) {
        _cleanup_close_ int read_fd = -EBADF, write_fd = -EBADF;
        _cleanup_strv_ char **argv = NULL;
        pid_t pid, launcher = getpid();
        int fds[2], r, error = 0;

        r = plan_podman_argv(options->plan, options->port, &argv);
        if (r < 0)
                return r;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        read_fd = fds[0];
        write_fd = fds[1];

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                child_exec(options, argv, write_fd, launcher);

        /* End of file: the program runs. */
        write_fd = fd_close(write_fd);
        if (read(read_fd, &error, sizeof(error)) == sizeof(error)) {
                (void) waitpid(pid, NULL, 0);
                return error;
        }

        *ret = pid;
        return 0;
}

static void explain_failure(const GuestRunOptions *options, int status) {
        const Settings *s = options->plan->request->settings;
        _cleanup_free_ char *shown = NULL;

        shown = str_escape(s->image);
        if (!shown)
                return;

        if (podman_image_exists(options->podman, s->image) == 0) {
                log_warning("The image %s is missing. Make it with: claude-profile build", shown);
                return;
        }
        if (s->isolation == ISOLATION_KRUN)
                log_warning("podman failed (status %d) before the sandbox started. Isolation is krun: crun needs its krun handler "
                                "(package crun-krun or crun-vm, libkrun). Machines without it: CLAUDE_PROFILE_SANDBOX_ISOLATION=container",
                                status);
        else
                log_warning("podman failed (status %d) before the sandbox started; its message stands above. "
                                "Does this work: podman run --rm --network=pasta %s true", status, shown);
}

/* What claude-sandbox-guards could not do. Returns whether it said so. */
static bool say_fault(const GuestRunOptions *o) {
        _cleanup_free_ char *text = NULL, *shown = NULL;

        if (io_read_file_at(o->launch_fd, LAUNCH_FILE_FAULT, FAULT_MAX, &text, NULL) < 0)
                return false;

        shown = str_escape(text);
        (void) log_error(0, "%s The sandbox was not started.", shown ?: "A guard is missing.");
        return true;
}

int podman_explain_early_end(const GuestRunOptions *options, int status) {
        if (status < PODMAN_STATUS_FIRST || status > PODMAN_STATUS_LAST)
                return log_error(-ECANCELED,
                                "podman ended with status %d before the sandbox had taken over: nothing has run in it.", status);

        if (!say_fault(options))
                explain_failure(options, status);
        return 0;
}
