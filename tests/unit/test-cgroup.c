/* SPDX-License-Identifier: MIT */

/* The groups of a scope, in a real control group of version 2. Skipped (77) where this process may not make one below
 * /sys/fs/cgroup. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/mountinfo.h"
#include "shared/cgroup.h"

#define MOUNT "/sys/fs/cgroup"
#define WAIT_USEC (20 * USEC_PER_SEC)

static char *scope;      /* as cgroup_enter() wants it */
static char *scope_path; /* in the file system */

/* A fresh group for each test; what is in it is killed and removed after. */
static int setup(void **state) {
        return mkdir(scope_path, 0755);
}

static int teardown(void **state) {
        static const char *const below[] = { "guest/deep/er", "guest/deep", "guest", "launcher" };
        _cleanup_close_ int fd = -EBADF;

        fd = open(scope_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || cgroup_kill(fd) < 0 || cgroup_wait_empty(fd, WAIT_USEC) < 0)
                return -1;
        for (size_t i = 0; i < ELEMENTSOF(below); i++)
                (void) unlinkat(fd, below[i], AT_REMOVEDIR);
        return rmdir(scope_path);
}

/* The path of the process's group, or NULL. */
static char *group_of(pid_t pid) {
        _cleanup_free_ char *text = NULL;
        char path[64], *save = NULL;

        (void) snprintf(path, sizeof(path), "/proc/%d/cgroup", (int) pid);
        if (io_read_file_at(AT_FDCWD, path, 64 * KIB, &text, NULL) < 0)
                return NULL;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
                if (str_after_prefix(line, "0::"))
                        return strdup(line + 3);

        return NULL;
}

/* A process in the group that ignores every signal it can; it has joined when this returns. */
static pid_t start_in(int group_fd) {
        int fds[2];
        pid_t pid;
        char c;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                sigset_t all;

                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void) sigfillset(&all);
                (void) sigprocmask(SIG_BLOCK, &all, NULL);
                if (cgroup_join(group_fd) < 0 || write(fds[1], "j", 1) != 1)
                        _exit(1);
                for (;;)
                        (void) pause();
        }

        fd_close(fds[1]);
        assert_int_equal(read(fds[0], &c, 1), 1);
        fd_close(fds[0]);
        return pid;
}

/* cgroup_enter() moves the process itself, so a child calls it; its exit status is 0 when `f` came back. */
static void in_scope(void (*f)(int guest_fd)) {
        int status;
        pid_t pid;

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                _cleanup_close_ int scope_fd = open(scope_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                int guest_fd;

                /* As the manager does it. */
                if (cgroup_join(scope_fd) < 0)
                        _exit(10);
                guest_fd = cgroup_enter(scope);
                if (guest_fd < 0)
                        _exit(11);
                f(guest_fd);
                _exit(0);
        }

        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

static void enter(int guest_fd) {
        _cleanup_free_ char *own = group_of(getpid());
        struct stat st;

        if (!own || !streq(path_last(own), "launcher") || fcntl(guest_fd, F_GETFD) != FD_CLOEXEC || fstat(guest_fd, &st) < 0)
                _exit(20);
        if (cgroup_is_populated(guest_fd) != 0 || cgroup_wait_empty(guest_fd, 0) != 0)
                _exit(21);

        /* A second launch cannot enter the same scope. */
        if (cgroup_enter(scope) != -EEXIST)
                _exit(22);
}

static void test_enter(void **state) {
        in_scope(enter);
}

static void kill_all(int guest_fd) {
        _cleanup_close_ int deep_fd = -EBADF;
        pid_t a, b;

        if (mkdirat(guest_fd, "deep", 0755) < 0 || mkdirat(guest_fd, "deep/er", 0755) < 0)
                _exit(30);
        deep_fd = openat(guest_fd, "deep/er", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        a = start_in(guest_fd);
        b = start_in(deep_fd);

        if (cgroup_is_populated(guest_fd) != 1 || cgroup_wait_empty(guest_fd, 10 * USEC_PER_MSEC) != -ETIMEDOUT)
                _exit(31);
        if (cgroup_kill(guest_fd) < 0 || cgroup_wait_empty(guest_fd, WAIT_USEC) < 0 || cgroup_is_populated(guest_fd) != 0)
                _exit(32);
        /* We, in the group beside it, live on. */
        if (waitpid(a, NULL, 0) != a || waitpid(b, NULL, 0) != b)
                _exit(33);
}

static void test_kill(void **state) {
        in_scope(kill_all);
}

/* The wait ends with the event, not with its bound. */
static void end_while_waiting(int guest_fd) {
        pid_t pid = start_in(guest_fd), killer;
        uint64_t start = now_usec();

        killer = fork();
        if (killer == 0)
                _exit(kill(pid, SIGKILL) < 0);
        if (cgroup_wait_empty(guest_fd, WAIT_USEC) < 0 || now_usec() - start > WAIT_USEC / 2)
                _exit(40);
        (void) waitpid(pid, NULL, 0);
        (void) waitpid(killer, NULL, 0);
}

static void test_wait(void **state) {
        in_scope(end_while_waiting);
}

/* A process that counts stands still, and then goes on. */
static void freeze(int guest_fd) {
        int fds[2], n;
        char c;
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                _exit(50);
        pid = fork();
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (cgroup_join(guest_fd) < 0)
                        _exit(1);
                while (write(fds[1], "x", 1) == 1)
                        ;
                _exit(0);
        }
        fd_close(fds[1]);

        if (read(fds[0], &c, 1) != 1 || cgroup_wait_frozen(guest_fd, 10 * USEC_PER_MSEC) != -ETIMEDOUT)
                _exit(51);
        if (cgroup_freeze(guest_fd, true) < 0 || cgroup_wait_frozen(guest_fd, WAIT_USEC) < 0)
                _exit(52);
        while (ioctl(fds[0], FIONREAD, &n) >= 0 && n > 0)
                if (read(fds[0], &c, 1) != 1)
                        _exit(53);
        if (poll(&(struct pollfd) { .fd = fds[0], .events = POLLIN }, 1, 20) != 0)
                _exit(54);
        if (cgroup_freeze(guest_fd, false) < 0 || read(fds[0], &c, 1) != 1)
                _exit(55);

        /* One that stands still can be killed. */
        if (cgroup_freeze(guest_fd, true) < 0 || cgroup_kill(guest_fd) < 0 || waitpid(pid, NULL, 0) != pid)
                _exit(56);
}

static void test_freeze(void **state) {
        in_scope(freeze);
}

static void test_errors(void **state) {
        _cleanup_close_ int plain = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(cgroup_enter("/claude-profile-no-such-scope"), -ENOENT);
        assert_int_equal(cgroup_join(plain), -ENOENT);
        assert_int_equal(cgroup_kill(plain), -ENOENT);
        assert_int_equal(cgroup_is_populated(plain), -ENOENT);
        assert_int_equal(cgroup_wait_empty(plain, 0), -ENOENT);
        assert_int_equal(cgroup_freeze(plain, true), -ENOENT);
        assert_int_equal(cgroup_wait_frozen(plain, 0), -ENOENT);
}

/* Where a group can be made: below this process's own, on the mount of version 2. */
static int find_place(void) {
        _cleanup_mount_table_ MountTable t = { 0 };
        _cleanup_free_ char *own = group_of(getpid());

        if (!own || mount_table_read("/proc/self/mountinfo", &t) < 0)
                return -ENOENT;

        for (size_t i = 0; i < t.n; i++) {
                const char *mount = str_after_prefix(t.mounts[i].mount_point, MOUNT);

                if (!streq(t.mounts[i].type, "cgroup2") || !mount)
                        continue;
                if (asprintf_to(&scope, "%s%s/claude-profile-test-%d.scope", mount, streq(own, "/") ? "" : own, (int) getpid()) < 0 ||
                                asprintf_to(&scope_path, MOUNT "%s", scope) < 0)
                        return -ENOMEM;
                if (mkdir(scope_path, 0755) < 0)
                        return -errno;
                return rmdir(scope_path) < 0 ? -errno : 0;
        }

        return -ENOENT;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_enter, setup, teardown),
                cmocka_unit_test_setup_teardown(test_kill, setup, teardown),
                cmocka_unit_test_setup_teardown(test_wait, setup, teardown),
                cmocka_unit_test_setup_teardown(test_freeze, setup, teardown),
                cmocka_unit_test(test_errors),
        };
        int r;

        r = find_place();
        if (r < 0) {
                (void) fprintf(stderr, "no control group can be made here: %s\n", strerror(-r));
                return 77;
        }

        r = cmocka_run_group_tests(tests, NULL, NULL);
        free(scope);
        free(scope_path);
        return r;
}
