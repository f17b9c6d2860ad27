/* SPDX-License-Identifier: MIT */
#pragma once

/* Pipes for splice(2), made when wanted and kept for the next: a bounded number, a few of them idle. */

#include "basic/macro.h"

#define PIPE_POOL_SIZE (256 * KIB) /* of a pipe, where the kernel allows it */
#define PIPE_POOL_MAX 512          /* alive at a time */
#define PIPE_POOL_IDLE_MAX 8

typedef struct Pipe {
        int in; /* -EBADF when there is none */
        int out;
        size_t n; /* bytes in it */
} Pipe;

#define PIPE_NONE ((Pipe) { .in = -EBADF, .out = -EBADF })

typedef struct PipePool {
        Pipe idle[PIPE_POOL_IDLE_MAX];
        size_t n_idle;
        size_t n_alive; /* idle ones included */
} PipePool;

/* Returns 0, -EMFILE (also at the pool's own limit) or another negative errno. */
int pipe_pool_take(PipePool *pool, Pipe *ret);

/* Gives `p` back, if there is one; a pipe with bytes in it is closed. */
void pipe_pool_release(PipePool *pool, Pipe *p);

/* Closes what is idle; every pipe must have been given back. */
void pipe_pool_clear(PipePool *pool);
