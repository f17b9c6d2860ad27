/* SPDX-License-Identifier: MIT */

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/foreground.h"

/* Keyboard signals are the program's business: this process waits for it, and then removes what it made. */
static int spawn(char *const *argv, pid_t *ret) {
        posix_spawnattr_t attributes;
        sigset_t keyboard;
        int r;

        (void) sigemptyset(&keyboard);
        (void) sigaddset(&keyboard, SIGINT);
        (void) sigaddset(&keyboard, SIGQUIT);

        r = posix_spawnattr_init(&attributes);
        if (r != 0)
                return -r;
        (void) posix_spawnattr_setsigdefault(&attributes, &keyboard);
        (void) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        r = posix_spawnp(ret, argv[0], NULL, &attributes, argv, environ);
        (void) posix_spawnattr_destroy(&attributes);
        return -r;
}

int foreground_run(char *const *argv, int *ret_status) {
        int r, status;
        pid_t pid;

        (void) signal(SIGINT, SIG_IGN);
        (void) signal(SIGQUIT, SIG_IGN);
        r = spawn(argv, &pid);
        if (r < 0)
                return r;
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -errno;

        *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return 0;
}
