/* SPDX-License-Identifier: MIT */

/* The supervisor as a process of its own, in a runtime directory without a user manager: launches that come and go, launchers that
 * die, what earlier ones left behind. podman and gpgconf are stand-ins. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
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
#include "stand-in-manager.h"
#include "shared/podman.h"
#include "supervisor/peer.h"
#include "supervisor/supervisor.h"

/* In place of peer.c and peer-rule.c: these tests are in no unit, so each process is one, and anybody may ask. */
int peer_unit(pid_t pid, char **ret) {
        return asprintf_to(ret, "%d.scope", (int) pid);
}

bool peer_may(const char *unit, const char *profile, const Request *request) {
        return true;
}

int peer_scope(pid_t pid, const char *unit, char **ret) {
        return -EPERM;
}

#define EVENT_USEC (60 * USEC_PER_SEC)

static pid_t supervisor;
static int base_fd = -EBADF;

/* Waits until `name` is gone from the runtime directory. */
static void wait_until_gone(const char *name) {
        _cleanup_close_ int fd = inotify_init1(IN_CLOEXEC);
        uint64_t deadline = now_usec() + EVENT_USEC;
        char buf[4096];

        assert_true(fd >= 0 && inotify_add_watch(fd, stage.runtime, IN_DELETE | IN_MOVE) >= 0);
        while (faccessat(base_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) >= 0) {
                struct pollfd pfd = { .fd = fd, .events = POLLIN };
                uint64_t now = now_usec();

                if (now >= deadline || poll(&pfd, 1, (int) ((deadline - now) / USEC_PER_MSEC) + 1) <= 0)
                        fail_msg("%s is still there", name);
                assert_true(read(fd, buf, sizeof(buf)) > 0);
        }
}

/* Runs until it is told to end. Standard output tells when it listens. */
static void _noreturn_ run_supervisor(int ready_fd) {
        int r, log_fd = open(in_scratch("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        Supervisor *s;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void) dup2(ready_fd, STDOUT_FILENO);
        (void) dup2(log_fd, STDERR_FILENO);
        (void) fd_close_from(STDERR_FILENO + 1); /* locks, too */

        if (supervisor_new(STAGE_PROFILE, &s) < 0 || write(STDOUT_FILENO, "r", 1) != 1 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
                _exit(10);
        r = supervisor_run(s);
        (void) supervisor_free(s);

        /* What a sanitizer finds must not be lost: no _exit() here. */
        exit(r < 0 ? 11 : 0);
}

static void start_supervisor(void) {
        int fds[2];
        char c;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        (void) fflush(stdout);
        supervisor = fork();
        assert_true(supervisor >= 0);
        if (supervisor == 0)
                run_supervisor(fds[1]);

        fd_close(fds[1]);
        assert_int_equal(read(fds[0], &c, 1), 1);
        fd_close(fds[0]);
}

/* In good order; what it said otherwise is shown. */
static void stop_supervisor(void) {
        char *text = NULL;
        int status;

        assert_int_equal(kill(supervisor, SIGTERM), 0);
        assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
        supervisor = 0;
        if (status != 0 && io_read_file_at(AT_FDCWD, in_scratch("log"), MIB, &text, NULL) >= 0)
                (void) fputs(text, stderr);
        free(text);
        assert_int_equal(status, 0);
}

static void write_program(const char *name, const char *text) {
        scratch_puts(name, text);
        assert_int_equal(chmod(in_scratch(name), 0755), 0);
}

/* A launch directory with the way to the stand-in for podman in it; the lock is the descriptor. */
static int make_launch(const char *name) {
        _cleanup_free_ char *program = strdup(in_scratch("podman")), *variable = NULL;
        PodmanAccess access = { .program = program };
        int fd;

        assert_int_equal(asprintf_to(&variable, "S=%s", scratch), 0);
        access.environment = (char *[]) { variable, (char *) "PATH=/usr/bin:/bin", NULL };
        fd = launch_dir_create(base_fd, name);
        assert_true(fd >= 0);
        assert_int_equal(podman_access_write(fd, &access), 0);
        return fd;
}

static bool podman_was_asked_about(const char *id) {
        _cleanup_free_ char *text = NULL;

        return io_read_file_at(AT_FDCWD, in_scratch("podman.log"), MIB, &text, NULL) >= 0 && strstr(text, id);
}

static int connect_supervisor(void) {
        int fd;

        fd = supervisor_connect(&stage.dirs, STAGE_PROFILE);
        assert_true(fd >= 0);
        return fd;
}

/* Announces a launch of that id. What supervisor_hold() says. */
static int hold(int fd, const char *id) {
        _cleanup_plan_ Plan *p = stage_plan();

        (void) strcpy(p->id, id);
        assert_int_equal(strdup_to(&p->directory, "/home/x/\"a\nb\""), 0);
        return supervisor_hold(fd, p);
}

/* Until the other end has closed; what it said in `buf`. */
static ssize_t read_to_end(int fd, char *buf, size_t size) {
        size_t n = 0;

        for (;;) {
                struct pollfd pfd = { .fd = fd, .events = POLLIN };
                ssize_t k;

                assert_int_equal(poll(&pfd, 1, (int) (EVENT_USEC / USEC_PER_MSEC)), 1);
                k = read(fd, buf + n, size - n - 1);
                if (k <= 0)
                        break;
                n += (size_t) k;
        }
        buf[n] = '\0';
        return (ssize_t) n;
}

/* A launch that ends in good order removes its directory itself. */
static void test_good_end(void **state) {
        _cleanup_close_ int line = connect_supervisor(), dir = make_launch("work-00000001");
        char buf[256];

        assert_int_equal(hold(line, "00000001"), 0);
        supervisor_done(line, 7);
        assert_int_equal(shutdown(line, SHUT_WR), 0);
        assert_int_equal(read_to_end(line, buf, sizeof(buf)), 0);
        assert_int_equal(faccessat(base_fd, "work-00000001", F_OK, 0), 0);
        assert_false(podman_was_asked_about("00000001"));
        assert_int_equal(unlinkat(dir, LAUNCH_FILE_CLEANUP, 0), 0);
        assert_int_equal(unlinkat(base_fd, "work-00000001", AT_REMOVEDIR), 0);
}

static void test_launcher_dies(void **state) {
        int line = connect_supervisor(), dir = make_launch("work-00000002");

        assert_int_equal(hold(line, "00000002"), 0);
        fd_close(line);
        fd_close(dir);
        wait_until_gone("work-00000002");
        assert_true(podman_was_asked_about("label=claude-profile.launch=00000002"));
}

/* A connection is one launch. */
static void test_one_launch_each(void **state) {
        _cleanup_close_ int line = connect_supervisor(), other = connect_supervisor(), dir = make_launch("work-00000003");
        char buf[256];

        assert_int_equal(hold(line, "00000003"), 0);
        assert_int_equal(hold(other, "00000004"), 0);
        assert_int_equal(hold(line, "00000005"), -EPERM);
        assert_int_equal(read_to_end(line, buf, sizeof(buf)), 0);
        supervisor_done(other, 0);
        dir = fd_close(dir);
        wait_until_gone("work-00000003");
}

static void say(int fd, const char *text) {
        assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t) strlen(text));
}

static void test_garbage(void **state) {
        static const char *const lines[] = { "\n", "x\n", "{}\n", "{\"request\":\"done\",\"status\":0}\n", "{\"request\":\"hold\"}\n" };
        _cleanup_close_ int good = connect_supervisor(), large = connect_supervisor();
        _cleanup_free_ char *text = malloc(REQUEST_MAX + 1);
        char buf[256];

        for (size_t i = 0; i < ELEMENTSOF(lines); i++) {
                _cleanup_close_ int fd = connect_supervisor();

                say(fd, lines[i]);
                assert_int_equal(read_to_end(fd, buf, sizeof(buf)), 0);
        }

        /* A line without an end. */
        assert_non_null(text);
        memset(text, ' ', REQUEST_MAX);
        assert_int_equal(send(large, text, REQUEST_MAX, MSG_NOSIGNAL), (ssize_t) REQUEST_MAX);
        assert_int_equal(read_to_end(large, buf, sizeof(buf)), 0);

        /* In pieces, and two at once: no matter. Others go on. */
        say(good, "{\"request\":\"hold\",");
        say(good, "\"id\":\"00000006\",\"directory\":\"/\"}\n{\"request\":\"done\",\"status\":0}\n");
        assert_int_equal(read(good, buf, sizeof(buf)), 12);
        assert_memory_equal(buf, "{\"ok\":true}\n", 12);
        assert_int_equal(shutdown(good, SHUT_WR), 0);
        assert_int_equal(read_to_end(good, buf, sizeof(buf)), 0);
}

/* Of a launch that is not held, and of one without a container: refused, and the latter is cleared away. */
static void test_guard_refused(void **state) {
        int line = connect_supervisor(), other = connect_supervisor(), dir = make_launch("work-00000007");
        char buf[256];

        say(other, "{\"request\":\"guard\"}\n");
        assert_int_equal(read_to_end(other, buf, sizeof(buf)), 13);
        assert_string_equal(buf, "{\"ok\":false}\n");
        fd_close(other);

        assert_int_equal(hold(line, "00000007"), 0);
        say(line, "{\"request\":\"guard\"}\n");
        assert_int_equal(read_to_end(line, buf, sizeof(buf)), 13);
        assert_string_equal(buf, "{\"ok\":false}\n");
        fd_close(line);
        fd_close(dir);
        wait_until_gone("work-00000007");
}

/* One unit takes all that it gets, and keeps asking; others are served. */
static void test_too_many(void **state) {
        int fds[CONNECTIONS_OF_UNIT_MAX + 1], status;
        char buf[16];
        pid_t other;

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fds[i] = connect_supervisor();
        assert_int_equal(read_to_end(fds[CONNECTIONS_OF_UNIT_MAX], buf, sizeof(buf)), 0);

        (void) fflush(stdout);
        other = fork();
        assert_true(other >= 0);
        if (other == 0) {
                _cleanup_close_ int line = connect_supervisor();

                status = hold(line, "00000007");
                supervisor_done(line, 0);
                _exit(status == 0 ? 0 : 1);
        }
        assert_int_equal(waitpid(other, &status, 0), other);
        assert_int_equal(status, 0);

        for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
                int fd = connect_supervisor();

                assert_int_equal(read_to_end(fd, buf, sizeof(buf)), 0);
                fd_close(fd);
        }
        /* Their places are free again when it has closed them, too. */
        for (size_t i = 0; i < CONNECTIONS_OF_UNIT_MAX; i++) {
                assert_int_equal(shutdown(fds[i], SHUT_WR), 0);
                assert_int_equal(read_to_end(fds[i], buf, sizeof(buf)), 0);
        }
        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                fd_close(fds[i]);
}

/* gpgconf says where the socket is; somebody answers there, or nobody does and there is no manager to start one. */
static void test_gpg_agent(void **state) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        char text[sizeof(sa.sun_path) + 64];
        int fd;

        (void) snprintf(sa.sun_path, sizeof(sa.sun_path), "%.90s", in_scratch("S.extra"));
        (void) snprintf(text, sizeof(text), "#!/bin/sh\necho %s\n", sa.sun_path);
        write_program("bin/gpgconf", text);
        assert_int_equal(supervisor_start_gpg_agent(&stage.dirs, STAGE_PROFILE), 0);

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        assert_int_equal(listen(fd, 8), 0);
        assert_int_equal(supervisor_start_gpg_agent(&stage.dirs, STAGE_PROFILE), 1);
        fd_close(fd);
}

/* What was there before it came: more than it looks after at once, and some that are none of its business. */
static void test_leftovers(void **state) {
        static const char *const others[] = { "other-0000000a", ".new-other-0000000a", "work-0000000A", "work" };
        _cleanup_close_ int alive = -EBADF;
        char name[64];

        stop_supervisor();
        alive = make_launch("work-0000000a");
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                assert_int_equal(mkdirat(base_fd, others[i], 0700), 0);
        for (unsigned i = 0; i < WORKERS_MAX + 6; i++) {
                (void) snprintf(name, sizeof(name), "work-1000%04x", i);
                fd_close(make_launch(name));
        }
        assert_int_equal(mkdirat(base_fd, ".new-work-0000000b", 0700), 0);

        start_supervisor();
        for (unsigned i = 0; i < WORKERS_MAX + 6; i++) {
                (void) snprintf(name, sizeof(name), "work-1000%04x", i);
                wait_until_gone(name);
        }
        wait_until_gone(".new-work-0000000b");
        assert_true(podman_was_asked_about("10000000"));
        assert_false(podman_was_asked_about("0000000a"));
        assert_int_equal(faccessat(base_fd, "work-0000000a", F_OK, 0), 0);
        for (size_t i = 0; i < ELEMENTSOF(others); i++)
                assert_int_equal(unlinkat(base_fd, others[i], AT_REMOVEDIR), 0);

        /* It dies while the supervisor runs, without having said a word. */
        alive = fd_close(alive);
        stop_supervisor();
        wait_until_gone("work-0000000a");
        start_supervisor();
}

/* The manager for one connection of the supervisor's, of whose last job nothing is heard until it kills. */
static void await_manager(StandInManager *m) {
        struct timespec deadline;

        assert_int_equal(clock_gettime(CLOCK_REALTIME, &deadline), 0);
        deadline.tv_sec += (time_t) (EVENT_USEC / USEC_PER_SEC);
        assert_int_equal(pthread_timedjoin_np(m->thread, NULL, &deadline), 0);
        m->listen_fd = fd_close(m->listen_fd);
        assert_int_equal(unlink(in_scratch("run/bus")), 0);
}

/* A bridge in a guest's hands has its end put off. Its launch has ended in good order, or its launcher died. */
static void test_bridge_that_stays(void **state) {
        StandInManager m = { .jobs = &(JobAnswer) { .result = NULL }, .n_jobs = 1 };
        int line = connect_supervisor();

        manager_start(&m, in_scratch("run/bus"));
        assert_int_equal(hold(line, "0000000d"), 0);
        supervisor_done(line, 0);
        fd_close(line);
        await_manager(&m);
        assert_string_equal(m.log, "StopUnit claude-bridge@work-0000000d.service replace\n");
        assert_int_equal(m.kills, 1);
}

static void test_bridge_that_stays_of_a_dead_launcher(void **state) {
        static const JobAnswer jobs[] = { { .result = "done" }, { .result = NULL } };
        StandInManager m = { .jobs = jobs, .n_jobs = ELEMENTSOF(jobs) };
        int line = connect_supervisor(), dir = make_launch("work-0000000e");

        manager_start(&m, in_scratch("run/bus"));
        assert_int_equal(hold(line, "0000000e"), 0);
        fd_close(line);
        fd_close(dir);
        await_manager(&m);
        assert_string_equal(m.log, "StopUnit claude-sandbox-work-0000000e.scope replace\n"
                                   "StopUnit claude-bridge@work-0000000e.service replace\n");
        assert_int_equal(m.kills, 1);
        wait_until_gone("work-0000000e");
}

/* A stop ends it, also with a launch that holds on, and takes the socket away. */
static void test_stop(void **state) {
        _cleanup_close_ int line = connect_supervisor();
        char buf[16];

        assert_int_equal(hold(line, "0000000c"), 0);
        stop_supervisor();
        assert_int_equal(read_to_end(line, buf, sizeof(buf)), 0);
        assert_int_equal(faccessat(base_fd, STAGE_PROFILE ".sock", F_OK, AT_SYMLINK_NOFOLLOW), -1);
        assert_int_equal(supervisor_connect(&stage.dirs, STAGE_PROFILE), -ENOENT);
        start_supervisor();
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        stage_make();
        scratch_mkdir("bin");
        write_program("podman", "#!/bin/sh\necho \"$*\" >>\"$S/podman.log\"\n");
        (void) setenv("XDG_RUNTIME_DIR", stage.runtime_root, 1);
        (void) setenv("PATH", in_scratch("bin"), 1);
        (void) unsetenv("XDG_DATA_HOME");
        (void) unsetenv("NOTIFY_SOCKET");

        base_fd = launch_base_open(&stage.dirs);
        if (base_fd < 0)
                return -1;
        start_supervisor();
        return 0;
}

static int teardown(void **state) {
        if (supervisor > 0)
                stop_supervisor();
        base_fd = fd_close(base_fd);
        return scratch_remove(state);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_good_end),
                cmocka_unit_test(test_launcher_dies),
                cmocka_unit_test(test_one_launch_each),
                cmocka_unit_test(test_garbage),
                cmocka_unit_test(test_guard_refused),
                cmocka_unit_test(test_too_many),
                cmocka_unit_test(test_gpg_agent),
                cmocka_unit_test(test_leftovers),
                cmocka_unit_test(test_bridge_that_stays),
                cmocka_unit_test(test_bridge_that_stays_of_a_dead_launcher),
                cmocka_unit_test(test_stop),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
