/* SPDX-License-Identifier: MIT */
#pragma once

/* Helper programs of the host (git, gpg, podman rm): run to their end, bounded in time and output, with an environment that
 * the caller built. */

#include "basic/macro.h"

typedef struct Subprocess {
        char *const *argv;       /* argv[0] is looked up in PATH of this process */
        char *const *env;        /* NULL: an empty one */
        const char *directory;   /* NULL: the caller's */
        const char *input;       /* for standard input; NULL: /dev/null */
        uint64_t timeout_usec;
        size_t output_max;       /* bytes of standard output; more: -EFBIG */
        bool show_errors;        /* standard error is the caller's; otherwise /dev/null */
} Subprocess;

/* Returns the exit status (128 + n for a signal), or negative errno: -ENOENT no such program, -ETIMEDOUT, -EFBIG. The process
 * is gone in every case. `*ret_output` (may be NULL) is the caller's, NUL-terminated. */
int subprocess_run(const Subprocess *p, char **ret_output, size_t *ret_size);

/* Adds NAME=VALUE of the caller's environment for each name that is set, or 0 / -ENOMEM. A name ending in "*" takes all that
 * start so. */
int environment_pick(char ***env, const char *const *names, size_t n_names);
