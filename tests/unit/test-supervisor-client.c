/* SPDX-License-Identifier: MIT */

/* The launcher's end of the line to the supervisor, with stand-ins that answer well, badly, or not at all. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "launch/supervisor-client.h"
#include "scratch.h"
#include "launch-stage.h"

static int listen_at(const char *path, int backlog) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        int fd;

        assert_true(strlen(path) < sizeof(sa.sun_path));
        (void) strcpy(sa.sun_path, path);
        (void) unlink(path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        assert_int_equal(listen(fd, backlog), 0);
        return fd;
}

/* Takes one connection, reads a line, writes `answer` (a byte at a time: `in_pieces`), closes. The line goes to the file "line". */
static pid_t stand_in(int listen_fd, const char *answer, bool in_pieces) {
        pid_t pid;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC), log_fd, n;
                char c;

                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) signal(SIGPIPE, SIG_IGN); /* who does not like the answer hangs up */
                log_fd = open(in_scratch("line"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
                while (read(fd, &c, 1) == 1 && write(log_fd, &c, 1) == 1 && c != '\n')
                        ;
                for (const char *p = answer; *p; p += in_pieces ? 1 : strlen(p)) {
                        if (io_write_all(fd, p, in_pieces ? 1 : strlen(p)) < 0)
                                break;
                        while (in_pieces && ioctl(fd, SIOCOUTQ, &n) >= 0 && n > 0)
                                (void) poll(NULL, 0, 1);
                }
                _exit(0);
        }

        return pid;
}

static void wait_for(pid_t pid) {
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static void assert_line(const char *expected) {
        _cleanup_free_ char *line = NULL;

        assert_int_equal(io_read_file_at(AT_FDCWD, in_scratch("line"), MIB, &line, NULL), 0);
        assert_string_equal(line, expected);
}

static void test_hold(void **state) {
        static const struct {
                const char *answer;
                int r;
        } rows[] = {
                { "{\"ok\":true}\n", 0 },
                { "{\"ok\":false}\n", -EPERM },
                { "yes\n", -EPERM },
                { "\n", -EPERM },
                { "", -ECONNRESET },
                { "{\"ok\":true}", -ECONNRESET },
                { "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
                  "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
                  "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789", -EBADMSG },
        };
        _cleanup_close_ int listen_fd = listen_at(in_scratch("run/claude-profile/" STAGE_PROFILE ".sock"), 8);

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (unsigned pieces = 0; pieces < 2; pieces++) {
                        pid_t pid = stand_in(listen_fd, rows[i].answer, pieces);
                        _cleanup_plan_ Plan *p = stage_plan();
                        _cleanup_close_ int fd = -EBADF;

                        (void) strcpy(p->id, "0123abcd");
                        assert_int_equal(strdup_to(&p->directory, "/home/x/\"a\nb"), 0);
                        fd = supervisor_connect(&stage.dirs, STAGE_PROFILE);
                        assert_true(fd >= 0);
                        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
                        assert_int_equal(supervisor_hold(fd, p), rows[i].r);
                        fd = fd_close(fd);
                        wait_for(pid);
                        assert_line("{\"request\":\"hold\",\"id\":\"0123abcd\",\"directory\":\"\\/home\\/x\\/\\\"a\\nb\"}\n");
                }
}

static void test_gpg(void **state) {
        _cleanup_close_ int listen_fd = listen_at(in_scratch("run/claude-profile/" STAGE_PROFILE ".sock"), 8);

        for (unsigned ok = 0; ok < 2; ok++) {
                pid_t pid = stand_in(listen_fd, ok ? "{\"ok\":true}\n" : "{\"ok\":false}\n", false);

                assert_int_equal(supervisor_start_gpg_agent(&stage.dirs, STAGE_PROFILE), ok);
                wait_for(pid);
                assert_line("{\"request\":\"start-gpg-agent\"}\n");
        }
}

static void test_done(void **state) {
        _cleanup_close_ int listen_fd = listen_at(in_scratch("run/claude-profile/" STAGE_PROFILE ".sock"), 8);
        pid_t pid = stand_in(listen_fd, "", false);
        int fd;

        fd = supervisor_connect(&stage.dirs, STAGE_PROFILE);
        assert_true(fd >= 0);
        supervisor_done(fd, 130);
        wait_for(pid);
        assert_line("{\"request\":\"done\",\"status\":130}\n");

        /* Nobody listens any more: no signal, no matter. */
        supervisor_done(fd, 0);
        fd_close(fd);
}

static void test_guard(void **state) {
        static const struct {
                const char *said;
                int r;
                const char *why;
        } rows[] = {
                { "", -EAGAIN, NULL },
                { "{\"ok\":true}\n", 1, NULL },
                { "{\"ok\":false}\n", 0, NULL },
                { "{\"ok\":false,\"reason\":\"a link\\n\\u001b\"}\n", 0, "a link\\x0a\\x1b" },
                { "{\"ok\":1}\n", -EBADMSG, NULL },
                { "{}\n", -EBADMSG, NULL },
                { "\n", -EBADMSG, NULL },
                { "{\"ok\":true}", -EBADMSG, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *why = NULL;
                char line[64] = "";
                int fds[2];

                assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
                assert_int_equal(supervisor_guard(fds[0]), 0);
                assert_true(read(fds[1], line, sizeof(line) - 1) > 0);
                assert_string_equal(line, "{\"request\":\"guard\"}\n");

                assert_int_equal(io_write_all(fds[1], rows[i].said, strlen(rows[i].said)), 0);
                assert_int_equal(supervisor_read_guard_answer(fds[0], &why), rows[i].r);
                assert_int_equal(!why, !rows[i].why);
                if (why)
                        assert_string_equal(why, rows[i].why);
                fd_close(fds[1]);
                fd_close(fds[0]);
        }
}

/* Two at once are two, and then its end. */
static void test_guard_twice(void **state) {
        static const char said[] = "{\"ok\":true}\n{\"ok\":false,\"reason\":\"x\"}\n";
        char *why = NULL;
        int fds[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
        assert_int_equal(io_write_all(fds[1], said, sizeof(said) - 1), 0);
        fd_close(fds[1]);
        assert_int_equal(supervisor_read_guard_answer(fds[0], &why), 1);
        assert_int_equal(supervisor_read_guard_answer(fds[0], &why), 0);
        assert_string_equal(why, "x");
        free(why);
        assert_int_equal(supervisor_read_guard_answer(fds[0], &why), -ECONNRESET);
        fd_close(fds[0]);
}

static void test_connect(void **state) {
        char name[101], path[PATH_MAX + 300];
        int fd, listen_fd;

        assert_int_equal(supervisor_connect(&stage.dirs, "nobody"), -ENOENT);
        scratch_puts("run/claude-profile/file.sock", "");
        assert_int_equal(supervisor_connect(&stage.dirs, "file"), -ECONNREFUSED);
        assert_int_equal(symlink(STAGE_PROFILE ".sock", in_scratch("run/claude-profile/link.sock")), 0);
        fd = supervisor_connect(&stage.dirs, "link");
        assert_true(fd < 0);

        /* The longest name, by a path that no socket address can hold. */
        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        (void) snprintf(path, sizeof(path), "%s.sock", name);
        assert_int_equal(chdir(stage.runtime), 0);
        listen_fd = listen_at(path, 8);
        assert_int_equal(chdir("/"), 0);
        fd = supervisor_connect(&stage.dirs, name);
        assert_true(fd >= 0);
        fd_close(fd);
        fd_close(listen_fd);
}

/* One that is stuck, with its queue full: bounded. */
static void test_full(void **state) {
        int listen_fd = listen_at(in_scratch("run/claude-profile/full.sock"), 0), first, second;
        uint64_t start = now_usec();

        first = supervisor_connect(&stage.dirs, "full");
        assert_true(first >= 0);
        second = supervisor_connect(&stage.dirs, "full");
        assert_int_equal(second, -EAGAIN);
        assert_in_range(now_usec() - start, USEC_PER_SEC, 60 * USEC_PER_SEC);
        fd_close(first);
        fd_close(listen_fd);
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        stage_make();
        make_path("run/claude-profile");
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_hold),
                cmocka_unit_test(test_gpg),
                cmocka_unit_test(test_done),
                cmocka_unit_test(test_guard),
                cmocka_unit_test(test_guard_twice),
                cmocka_unit_test(test_connect),
                cmocka_unit_test(test_full),
        };

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
