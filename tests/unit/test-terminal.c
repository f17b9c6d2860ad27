/* SPDX-License-Identifier: MIT */

/* A terminal's modes, kept and put back: also from the background, where that would stop the process. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/fd.h"
#include "launch/terminal.h"

static int open_terminal(int *ret_master) {
        int slave;

        *ret_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(*ret_master >= 0);
        assert_int_equal(grantpt(*ret_master), 0);
        assert_int_equal(unlockpt(*ret_master), 0);
        slave = open(ptsname(*ret_master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(slave >= 0);
        return slave;
}

static void make_raw(int fd) {
        struct termios t;

        if (tcgetattr(fd, &t) < 0)
                _exit(20);
        cfmakeraw(&t);
        if (tcsetattr(fd, TCSANOW, &t) < 0)
                _exit(21);
}

static bool is_raw(int fd) {
        struct termios t;

        return tcgetattr(fd, &t) >= 0 && !(t.c_lflag & ICANON);
}

/* In a session of its own on the terminal, the child is its leader's child in the background. */
static void run(int slave) {
        TerminalModes modes = { 0 };
        int status;
        pid_t pid;

        if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0 || dup2(slave, STDIN_FILENO) < 0)
                _exit(1);

        pid = fork();
        if (pid == 0) {
                if (setpgid(0, 0) < 0)
                        _exit(2);
                terminal_save(&modes);
                if (!modes.saved)
                        _exit(3);
                /* podman in the foreground changes them, and is killed. */
                (void) signal(SIGTTOU, SIG_IGN);
                make_raw(STDIN_FILENO);
                (void) signal(SIGTTOU, SIG_DFL);
                if (!is_raw(STDIN_FILENO))
                        _exit(4);

                terminal_restore(&modes);
                if (signal(SIGTTOU, SIG_DFL) != SIG_DFL)
                        _exit(5);
                _exit(is_raw(STDIN_FILENO) ? 6 : 0);
        }

        if (waitpid(pid, &status, WUNTRACED) != pid || !WIFEXITED(status))
                _exit(7);
        _exit(WEXITSTATUS(status));
}

static void test_from_background(void **state) {
        int master, slave = open_terminal(&master), status;
        pid_t pid;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                run(slave);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        fd_close(slave);
        fd_close(master);
}

static void test_no_terminal(void **state) {
        TerminalModes modes = { .saved = true };
        int status;
        pid_t pid;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

                if (dup2(fd, STDIN_FILENO) < 0)
                        _exit(1);
                terminal_save(&modes);
                terminal_restore(&modes);
                _exit(modes.saved);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_from_background),
                cmocka_unit_test(test_no_terminal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
