/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "basic/macro.h"
#include "bridge/slice.h"

static SchedAttr get(void) {
        SchedAttr a = {};

        assert_int_equal(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
        return a;
}

static bool set(const SchedAttr *a) {
        return syscall(SYS_sched_setattr, 0, a, 0) == 0;
}

/* Whether this kernel takes a length of turn from SCHED_OTHER, and tells it. */
static bool heeded;

static void find_out(void) {
        SchedAttr a = get();

        a.runtime = 7 * 1000 * 1000;
        _exit(set(&a) && get().runtime == a.runtime ? 0 : 2);
}

static int status_of(void (*f)(void)) {
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

#define CHECK(condition) \
        do { \
                if (!(condition)) { \
                        print_error("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
                        _exit(1); \
                } \
        } while (false)

/* As in the bridge's unit: some filter, here one that forbids nothing. */
static void be_filtered(void) {
        struct sock_filter filter = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        const struct sock_fprog program = { .len = 1, .filter = &filter };

        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void at_nice_level(void) {
        SchedAttr before, after;

        be_filtered();
        CHECK(setpriority(PRIO_PROCESS, 0, 5) == 0);
        before = get();
        CHECK(slice_ask_longer() == 0);
        after = get();

        CHECK(after.nice == 5 && after.policy == SCHED_OTHER && after.flags == before.flags);
        CHECK(!heeded || after.runtime > before.runtime);

        /* That was the last time. */
        before = after;
        CHECK(!set(&after) && errno == EPERM);
        after = get();
        CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

static void test_longer(void **state) {
        heeded = status_of(find_out) == 0;
        assert_int_equal(status_of(at_nice_level), 0);
}

/* A batch job stays one. */
static void as_batch_job(void) {
        const struct sched_param none = {};

        CHECK(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
        CHECK(slice_ask_longer() == 0);
        CHECK(get().policy == SCHED_BATCH);
}

static void when_idle(void) {
        const struct sched_param none = {};
        SchedAttr before, after;

        CHECK(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
        before = get();
        CHECK(slice_ask_longer() == 0);
        after = get();
        CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

static void test_other_policies(void **state) {
        assert_int_equal(status_of(as_batch_job), 0);
        assert_int_equal(status_of(when_idle), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_longer),
                cmocka_unit_test(test_other_policies),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
