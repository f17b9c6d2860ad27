/* SPDX-License-Identifier: MIT */

#include <grp.h>
#include <signal.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "guest/command.h"

/* Whether there is such a file, wherever execvp() would look for it. */
static bool program_exists(const char *name, char *const *environment) {
        const char *path = strv_env_get(environment, "PATH");
        _cleanup_strv_ char **directories = NULL;

        if (strchr(name, '/'))
                return access(name, F_OK) >= 0;
        if (*name == '\0' || !path || strv_split(path, ':', &directories) < 0)
                return false;

        STRV_FOREACH(directory, directories) {
                _cleanup_free_ char *file = path_join(*directory, name);

                if (file && access(file, F_OK) >= 0)
                        return true;
        }

        return false;
}

static int report_not_run(const Command *c, int error) {
        _cleanup_free_ char *name = str_escape(c->argv[0]);

        if (error != -ENOENT && error != -ENOTDIR) {
                (void) log_error(error, "Cannot run '%s'", name ?: "?");
                return STATUS_NOT_EXECUTABLE;
        }

        if (program_exists(c->argv[0], c->environment))
                (void) log_error(error,
                                "Cannot run '%s': this image lacks the interpreter or loader that it names.",
                                name ?: "?");
        else
                (void) log_error(error, "Cannot run '%s': there is no such program in the sandbox.",
                                name ?: "?");
        return STATUS_NOT_FOUND;
}

/* The last step: from here on nothing is root's. Returns 0 or negative errno. */
static int become_user(void) {
        static const gid_t gid = GUEST_UID;

        /* Some user namespaces forbid setgroups(); there the groups are those of the host's user, which give
         * nothing. */
        if (setgroups(1, &gid) < 0 && errno != EPERM)
                return -errno;
        if (setresgid(GUEST_UID, GUEST_UID, GUEST_UID) < 0)
                return -errno;
        if (setresuid(GUEST_UID, GUEST_UID, GUEST_UID) < 0)
                return -errno;

        return 0;
}

static void reset_signals(void) {
        sigset_t none;

        for (int sig = 1; sig < NSIG; sig++)
                (void) signal(sig, SIG_DFL);

        sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
}

static int command_exec(const Command *c) {
        int r;

        /* SIGTTOU is blocked here, so that a background group may take the foreground. */
        (void) setpgid(0, 0);
        if (c->terminal)
                (void) tcsetpgrp(STDIN_FILENO, getpid());

        (void) setrlimit(RLIMIT_NOFILE, &c->nofile);

        r = become_user();
        if (r < 0) {
                (void) log_error(r, "Cannot become user %s", GUEST_USER);
                return STATUS_ENTRY_FAILED;
        }

        r = fd_close_from(STDERR_FILENO + 1);
        if (r < 0) {
                (void) log_error(r, "Cannot close descriptors");
                return STATUS_ENTRY_FAILED;
        }

        reset_signals();

        /* execvp() takes PATH from the environment of the process, not from the one that it passes on. */
        environ = (char **) c->environment;
        (void) execvp(c->argv[0], c->argv);
        return report_not_run(c, -errno);
}

int command_start(const Command *c, pid_t *ret) {
        pid_t pid;

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                _exit(command_exec(c));

        /* In the child, too: whoever comes first. A signal for the group must find it. */
        (void) setpgid(pid, pid);

        *ret = pid;
        return 0;
}
