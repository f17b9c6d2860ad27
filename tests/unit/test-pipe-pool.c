/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "basic/pipe-pool.h"

static void test_limits_and_reuse(void **state) {
        Pipe pipes[PIPE_POOL_IDLE_MAX + 1], again;
        PipePool pool = {};

        for (size_t i = 0; i < ELEMENTSOF(pipes); i++)
                assert_int_equal(pipe_pool_take(&pool, &pipes[i]), 0);
        assert_int_equal(pool.n_alive, ELEMENTSOF(pipes));

        pipes[0].n = 1; /* as if bytes were in it */
        for (size_t i = 0; i < ELEMENTSOF(pipes); i++)
                pipe_pool_release(&pool, &pipes[i]);
        assert_int_equal(pool.n_alive, PIPE_POOL_IDLE_MAX);
        pipe_pool_release(&pool, &pipes[0]);

        assert_int_equal(pipe_pool_take(&pool, &again), 0);
        assert_int_equal(pool.n_alive, PIPE_POOL_IDLE_MAX);
        pipe_pool_release(&pool, &again);

        pool.n_alive += PIPE_POOL_MAX - PIPE_POOL_IDLE_MAX;
        pool.n_idle = 0;
        assert_int_equal(pipe_pool_take(&pool, &again), -EMFILE);
        pool.n_idle = PIPE_POOL_IDLE_MAX;
        pool.n_alive = PIPE_POOL_IDLE_MAX;

        pipe_pool_clear(&pool);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_limits_and_reuse),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
