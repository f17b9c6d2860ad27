/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/fd.h"
#include "basic/str.h"

static bool is_open(int fd) {
        return fcntl(fd, F_GETFD) >= 0;
}

static void test_close(void **state) {
        int fd;

        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);

        errno = EINTR;
        assert_int_equal(fd_close(fd), -EBADF);
        assert_int_equal(fd_close(fd), -EBADF); /* fails inside, and says nothing of it */
        assert_int_equal(errno, EINTR);
        assert_false(is_open(fd));

        assert_int_equal(fd_close(-EBADF), -EBADF);
}

static void test_cleanup(void **state) {
        int copy;

        {
                _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

                copy = fd;
                assert_true(is_open(copy));
        }

        assert_false(is_open(copy));
}

static void test_flags(void **state) {
        _cleanup_close_ int fd = open("/dev/null", O_RDWR | O_APPEND);

        for (int round = 0; round < 2; round++) {
                assert_int_equal(fd_set_nonblock(fd, true), 0);
                assert_int_equal(fd_set_cloexec(fd, true), 0);
                assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
                assert_true(fcntl(fd, F_GETFL) & O_APPEND);
                assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        }

        assert_int_equal(fd_set_nonblock(fd, false), 0);
        assert_int_equal(fd_set_cloexec(fd, false), 0);
        assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(fd, F_GETFL) & O_APPEND);
        assert_false(fcntl(fd, F_GETFD) & FD_CLOEXEC);

        assert_int_equal(fd_set_nonblock(-1, true), -EBADF);
        assert_int_equal(fd_set_cloexec(-1, true), -EBADF);
}

/* What changes the low descriptors runs in a child; its status says which check failed. */
static int status_of(int (*f)(void)) {
        int status;
        pid_t pid;

        pid = fork();
        if (pid == 0)
                _exit(f());

        assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        return WEXITSTATUS(status);
}

static int close_from(void) {
        int high;

        high = fcntl(0, F_DUPFD, 200);
        if (high < 200 || !is_open(high))
                return 1;
        if (fd_close_from(3) < 0)
                return 2;
        if (is_open(high) || is_open(3))
                return 3;
        return is_open(0) && is_open(1) && is_open(2) ? 0 : 4;
}

static int fill_stdio(void) {
        char path[64] = {};

        (void) fd_close_from(0);
        if (fd_fill_stdio() < 0)
                return 1;
        if (!is_open(0) || !is_open(1) || !is_open(2) || is_open(3))
                return 2;
        if (readlink("/proc/self/fd/2", path, sizeof(path) - 1) < 0 || !streq(path, "/dev/null"))
                return 3;

        /* Passed on to a program: not close-on-exec. */
        if (fcntl(1, F_GETFD) & FD_CLOEXEC)
                return 4;

        /* What is open stays. */
        (void) close(1);
        (void) open("/dev/zero", O_RDONLY);
        (void) close(2);
        if (fd_fill_stdio() < 0 || readlink("/proc/self/fd/1", path, sizeof(path) - 1) < 0)
                return 5;
        return str_after_prefix(path, "/dev/zero") && is_open(2) ? 0 : 6;
}

static void test_close_from(void **state) {
        assert_int_equal(status_of(close_from), 0);
}

static void test_fill_stdio(void **state) {
        assert_int_equal(status_of(fill_stdio), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_close),
                cmocka_unit_test(test_cleanup),
                cmocka_unit_test(test_flags),
                cmocka_unit_test(test_close_from),
                cmocka_unit_test(test_fill_stdio),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
