/* SPDX-License-Identifier: MIT */
#pragma once

/* Helper programs of the host (git, gpg, podman rm): run to their end, bounded in time and output, with an environment that
 * the caller built. */

#include <sys/types.h>

#include "basic/macro.h"

typedef struct Subprocess {
        char *const *argv;       /* argv[0] is looked up in PATH of this process */
        char *const *env;        /* NULL: an empty one */
        const char *directory;   /* NULL: the caller's */
        const char *input;       /* for standard input; NULL: /dev/null */
        uint64_t timeout_usec;   /* for all of it; over: -ETIMEDOUT */
        size_t output_max;       /* bytes of standard output; more: -EFBIG */
        bool show_errors;        /* standard error is the caller's; otherwise /dev/null */
        bool merge_errors;       /* … or goes where standard output does */
} Subprocess;

/* Returns the exit status (128 + n for a signal), or negative errno, -ENOENT when there is no such program, -ETIMEDOUT, -EFBIG. The
 * process is gone in every case, and on failure all that it started (its process group) with it. `*ret_output` (may be NULL) is the
 * caller's, NUL-terminated. */
int subprocess_run(const Subprocess *p, char **ret_output, size_t *ret_size);

/* The same in two steps: the time from the start counts. A running process that is zero-initialized is none. */
typedef struct RunningProcess {
        pid_t pid;
        int output_fd, error_fd;
        const char *program; /* argv[0], the caller's */
        uint64_t deadline;
        size_t output_max;
} RunningProcess;

int subprocess_start(const Subprocess *p, RunningProcess *ret);
int subprocess_finish(RunningProcess *p, char **ret_output, size_t *ret_size);

/* Kills it, if it runs. */
void subprocess_abandon(RunningProcess *p);

/* In a child that is about to execute a program: whatever is open above standard error ends with that, inherited or not.
 * Async-signal-safe. 0 or negative errno. */
int child_close_on_exec(void);

/* Adds to `env` each variable of this process's environment whose name is in `names`; a name that ends in "*" stands for all that
 * start so. 0 or -ENOMEM. */
int environment_pick(char ***env, const char *const *names, size_t n_names);
