/* SPDX-License-Identifier: MIT */
#pragma once

/* What cannot be undone is done in a child. Include behind cmocka.h. */

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child, where cmocka's assertions are of no use. */
#define CHECK(condition) \
        do { \
                if (!(condition)) { \
                        print_error("%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno)); \
                        _exit(1); \
                } \
        } while (false)

/* Returns the status that the child exits with, 0 after all of `f`. */
static inline int in_child(void (*f)(void)) {
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (pid == 0) {
                f();
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}
