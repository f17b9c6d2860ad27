/* SPDX-License-Identifier: MIT */

/* A bridge in a guest's hands, and another process of the user: whatever it tries fails, and the other goes on. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "basic/macro.h"
#include "bridge/seal.h"
#include "bridge/slice.h"
#include "in-child.h"

static pid_t victim;

#define CHECK_FORBIDDEN(call) CHECK((call) < 0 && errno == EPERM)

/* As in the unit: some filter, here one that forbids nothing. */
static void be_filtered(void) {
        struct sock_filter filter = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        const struct sock_fprog program = { .len = 1, .filter = &filter };

        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static int limit(pid_t pid, int what, rlim_t value) {
        const struct rlimit l = { value, value };

        return (int) syscall(SYS_prlimit64, pid, what, &l, NULL);
}

/* The port is the host's: what a socket of it could still do, and who could be given it. */
static void attack_network(void) {
        const struct sockaddr_in any = { .sin_family = AF_INET };
        const struct sockaddr none = { .sa_family = AF_UNSPEC };
        struct msghdr message = { 0 };
        struct mmsghdr messages = { 0 };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        CHECK(fd >= 0);
        (void) connect(fd, &none, sizeof(none));
        CHECK_FORBIDDEN(sendto(fd, "x", 1, MSG_FASTOPEN, (const struct sockaddr *) &any, sizeof(any)));
        CHECK_FORBIDDEN(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (const struct sockaddr *) &any, sizeof(any)));
        CHECK_FORBIDDEN(sendmsg(fd, &message, 0));
        CHECK_FORBIDDEN(sendmmsg(fd, &messages, 1, 0));
        CHECK_FORBIDDEN(bind(fd, (const struct sockaddr *) &any, sizeof(any)));
        CHECK_FORBIDDEN(listen(fd, 1));
}

/* What each of them does where nothing is sealed is shown by test_not_sealed(). */
static void attack(void) {
        const struct f_owner_ex owner = { F_OWNER_PID, victim };
        SchedAttr idle = { .size = sizeof(idle), .policy = SCHED_IDLE };
        int fds[2];

        be_filtered();
        CHECK(seal() == 1);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);

        CHECK_FORBIDDEN(limit(victim, RLIMIT_CPU, 0));
        CHECK_FORBIDDEN(limit(victim, RLIMIT_NOFILE, 0));
        CHECK_FORBIDDEN(syscall(SYS_prlimit64, (uint64_t) victim | UINT64_C(1) << 32, RLIMIT_CPU, &(struct rlimit){}, NULL));
        CHECK_FORBIDDEN(fcntl(fds[0], F_SETOWN, victim));
        CHECK(syscall(SYS_fcntl, fds[0], (uint64_t) F_SETOWN | UINT64_C(1) << 32, victim) < 0); /* valgrind: EINVAL */
        CHECK_FORBIDDEN(fcntl(fds[0], F_SETOWN, -victim)); /* a process group */
        CHECK_FORBIDDEN(fcntl(fds[0], F_SETOWN_EX, &owner));
        CHECK_FORBIDDEN(fcntl(fds[0], F_SETSIG, SIGKILL));
        CHECK_FORBIDDEN(syscall(SYS_sched_setattr, victim, &idle, 0));

        attack_network();

        /* In vain, then. */
        CHECK(fcntl(fds[0], F_SETFL, O_ASYNC) == 0);
        CHECK(write(fds[1], "x", 1) == 1);
}

static void test_other_processes(void **state) {
        assert_int_equal(in_child(attack), 0);
        assert_int_equal(waitpid(victim, NULL, WNOHANG), 0);
        assert_int_equal(sched_getscheduler(victim), SCHED_OTHER);
}

static void need(void) {
        struct rlimit l;
        int fds[2];

        be_filtered();
        CHECK(seal() == 1);
        CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0);
        l.rlim_cur = 100;
        CHECK(setrlimit(RLIMIT_NOFILE, &l) == 0);
        CHECK(getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur == 100);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        CHECK(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(fds[0], F_GETFL) & O_NONBLOCK);
        CHECK(fcntl(fds[0], F_DUPFD_CLOEXEC, 50) == 50);
        CHECK(sendto(fds[0], "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0) == 1);
}

static void test_what_it_needs(void **state) {
        assert_int_equal(in_child(need), 0);
}

static void unsealed(void) {
        int fds[2];

        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct msghdr message = { 0 };

        CHECK(bind(fd, (const struct sockaddr *) &(struct sockaddr_in){ .sin_family = AF_INET }, sizeof(struct sockaddr_in)) == 0);
        CHECK(listen(fd, 1) == 0);
        CHECK(sendmsg(fd, &message, MSG_NOSIGNAL) < 0 && errno != EPERM);

        /* In a container this test may have a filter of its own. */
        CHECK(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == SECCOMP_MODE_FILTER || seal() == 0);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        CHECK(fcntl(fds[0], F_SETOWN, victim) == 0 && fcntl(fds[0], F_SETSIG, SIGKILL) == 0);
        CHECK(fcntl(fds[0], F_SETFL, O_ASYNC) == 0);
        CHECK(write(fds[1], "x", 1) == 1);
}

/* The last one: the victim is one. */
static void test_not_sealed(void **state) {
        int status;

        assert_int_equal(in_child(unsealed), 0);
        assert_int_equal(waitpid(victim, &status, 0), victim);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_other_processes),
                cmocka_unit_test(test_what_it_needs),
                cmocka_unit_test(test_not_sealed),
        };

        victim = fork();
        if (victim < 0)
                return 1;
        if (victim == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        (void) pause();
        }

        return cmocka_run_group_tests(tests, NULL, NULL);
}
