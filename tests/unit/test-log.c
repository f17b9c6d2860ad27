/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"

/* What `f` writes to standard error. */
static char *output_of(void (*f)(void)) {
        _cleanup_close_ int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), file = -EBADF;
        char *text = NULL;

        file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        assert_true(saved >= 0 && file >= 0);

        (void) dup2(file, STDERR_FILENO);
        f();
        (void) dup2(saved, STDERR_FILENO);

        assert_int_equal(lseek(file, 0, SEEK_SET), 0);
        assert_int_equal(io_read_all(file, 1 * MIB, &text, NULL), 0);
        return text;
}

static void assert_output(void (*f)(void), const char *expected) {
        _cleanup_free_ char *text = output_of(f);

        assert_string_equal(text, expected);
}

static void set_up(const char *debug, const char *journal, const char *term) {
        static const char *const names[] = { "CLAUDE_PROFILE_DEBUG", "JOURNAL_STREAM", "TERM" };
        const char *const values[] = { debug, journal, term };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (values[i])
                        (void) setenv(names[i], values[i], 1);
                else
                        (void) unsetenv(names[i]);

        log_setup("prog");
}

static void say_everything(void) {
        errno = EINTR;
        (void) log_error(0, "an error");
        log_warning("a %s", "warning");
        log_notice("a notice");
        log_debug("debug output");
}

static void test_levels(void **state) {
        set_up(NULL, NULL, "xterm");
        assert_output(say_everything, "prog: an error\nprog: warning: a warning\nprog: a notice\n");

        set_up("1", NULL, "xterm");
        assert_output(say_everything,
                        "prog: an error\nprog: warning: a warning\nprog: a notice\nprog: debug: debug output\n");

        set_up("yes", NULL, "xterm");
        assert_output(say_everything, "prog: an error\nprog: warning: a warning\nprog: a notice\n");
}

static void test_journal(void **state) {
        set_up("1", "8:1", NULL);
        assert_output(say_everything, "<3>an error\n<4>a warning\n<5>a notice\n<7>debug output\n");

        /* Started from a terminal of a service that has a journal stream. */
        set_up(NULL, "8:1", "xterm");
        assert_output(say_everything, "prog: an error\nprog: warning: a warning\nprog: a notice\n");
        set_up(NULL, NULL, "xterm");
}

/* Nothing is read from the other end: as much is said as there is room for. */
static void test_journal_does_not_read(void **state) {
        _cleanup_close_ int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), ours = -EBADF, others = -EBADF;
        int fds[2], n = 0;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        ours = fds[0];
        others = fds[1];
        set_up(NULL, "8:1", NULL);

        (void) alarm(30);
        (void) dup2(ours, STDERR_FILENO);
        for (int i = 0; i < 100000; i++)
                (void) log_error(0, "a line");
        (void) dup2(saved, STDERR_FILENO);
        (void) alarm(0);
        set_up(NULL, NULL, "xterm");

        assert_int_equal(ioctl(others, FIONREAD, &n), 0);
        assert_true(n > 100 && n < 100000 * (int) STRLEN("<3>a line\n"));
}

static void say_errors(void) {
        assert_int_equal(log_error(-ENOENT, "Cannot open %s", "it"), -ENOENT);
        assert_int_equal(log_error(-EINVAL, "A whole sentence."), -EINVAL);
        assert_int_equal(log_error(0, "No error"), 0);
        assert_int_equal(log_oom(), -ENOMEM);
}

static void test_errors(void **state) {
        assert_output(say_errors,
                        "prog: Cannot open it: No such file or directory\nprog: A whole sentence.\nprog: No error\n"
                        "prog: Out of memory.\n");
}

static void say_too_much(void) {
        static char text[20000];

        memset(text, 'x', sizeof(text) - 1);
        (void) log_error(-ENOENT, "%s", text);
        (void) log_error(0, "next");
}

static void test_long_line(void **state) {
        _cleanup_free_ char *text = output_of(say_too_much);
        const char *newline = strchr(text, '\n');

        assert_non_null(newline);
        assert_true(newline - text < 5000);
        assert_string_equal(newline + 1, "prog: next\n");
}

/* A generator's lines come to the journal as its manager's. */
static void test_name_in_journal(void **state) {
        set_up(NULL, "8:1", NULL);
        log_always_name();
        assert_output(say_everything, "<3>prog: an error\n<4>prog: a warning\n<5>prog: a notice\n");
        set_up(NULL, NULL, "xterm");
        assert_output(say_everything, "prog: an error\nprog: warning: a warning\nprog: a notice\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_levels),
                cmocka_unit_test(test_journal),
                cmocka_unit_test(test_journal_does_not_read),
                cmocka_unit_test(test_errors),
                cmocka_unit_test(test_long_line),
                cmocka_unit_test(test_name_in_journal), /* last: it stays so */
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
