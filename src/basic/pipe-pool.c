/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/pipe-pool.h"

static void pool_close(PipePool *pool, Pipe *p) {
        assert(pool->n_alive > 0);
        pool->n_alive--;

        fd_close(p->in);
        fd_close(p->out);
        *p = PIPE_NONE;
}

int pipe_pool_take(PipePool *pool, Pipe *ret) {
        int fds[2];

        if (pool->n_idle > 0) {
                *ret = pool->idle[--pool->n_idle];
                return 0;
        }

        if (pool->n_alive >= PIPE_POOL_MAX)
                return -EMFILE;
        if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;

        /* Refused when the user has too many large pipes already; a small one does as well. */
        (void) fcntl(fds[1], F_SETPIPE_SZ, (int) PIPE_POOL_SIZE);

        pool->n_alive++;
        *ret = (Pipe) { .out = fds[0], .in = fds[1] };
        return 0;
}

void pipe_pool_release(PipePool *pool, Pipe *p) {
        if (p->in < 0)
                return;

        if (p->n > 0 || pool->n_idle >= PIPE_POOL_IDLE_MAX) {
                pool_close(pool, p);
                return;
        }

        pool->idle[pool->n_idle++] = *p;
        *p = PIPE_NONE;
}

void pipe_pool_clear(PipePool *pool) {
        while (pool->n_idle > 0)
                pool_close(pool, &pool->idle[--pool->n_idle]);

        assert(pool->n_alive == 0);
}
