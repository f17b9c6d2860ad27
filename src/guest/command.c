/* SPDX-License-Identifier: MIT */

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "guest/command.h"

typedef struct Failure {
        int error;        /* negative errno; 0: none */
        const char *step; /* NULL: the program could not be run */
} Failure;

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

/* Runs in the memory of the parent, which waits: system calls only, and nothing is allocated or logged.
 * Returns only on failure. */
static void command_exec(const Command *c, volatile Failure *f) {
        /* SIGTTOU is blocked here, so that a background group may take the foreground. */
        (void) setpgid(0, 0);
        if (c->terminal)
                (void) tcsetpgrp(STDIN_FILENO, getpid());

        (void) setrlimit(RLIMIT_NOFILE, &c->nofile);

        f->step = "become the user of the sandbox";
        f->error = become_user();
        if (f->error < 0)
                return;

        f->step = "close descriptors";
        f->error = fd_close_from(STDERR_FILENO + 1);
        if (f->error < 0)
                return;

        reset_signals();
        f->step = NULL;
        (void) execvp(c->argv[0], c->argv);
        f->error = -errno;
}

int command_start(const Command *c, pid_t *ret) {
        volatile Failure failure = {};
        pid_t pid;

        /* execvp() looks for the program in the PATH of this process, not in one that it passes on. */
        environ = (char **) c->environment;

        /* A copy of the page tables would make the start half as long again. The parent goes on when the
         * child has become the command or has failed to. */
        pid = vfork();
        if (pid < 0)
                return log_error(-errno, "Cannot start the command");
        if (pid == 0) {
                command_exec(c, &failure);
                _exit(STATUS_ENTRY_FAILED);
        }

        /* The child gave up its privileges in our memory, which has closed our /proc to the host's user. */
        (void) prctl(PR_SET_DUMPABLE, 1);

        if (failure.error < 0) {
                (void) waitpid(pid, NULL, 0);
                return failure.step ? log_error(failure.error, "Cannot %s", failure.step)
                                    : report_not_run(c, failure.error);
        }

        *ret = pid;
        return 0;
}
