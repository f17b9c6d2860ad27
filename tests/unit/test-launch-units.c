/* SPDX-License-Identifier: MIT */

/* The transient units of a launch, with a stand-in for the user manager: what it is asked for, and what follows from its answers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "launch/launch-units.h"
#include "messages.h"
#include "scratch.h"
#include "stand-in-manager.h"
#include "launch-stage.h"

static Limits given; /* with -p */

static Plan *plan(void) {
        Plan *p;

        stage_fill();
        stage.request.limits = given;
        (void) snprintf(stage.runtime, sizeof(stage.runtime), "%s", scratch);
        p = stage_plan();
        (void) strcpy(p->id, "0123abcd");
        launch_units_clear(&p->units);
        assert_int_equal(launch_units_make("my-team", p->id, &p->units), 0);
        assert_int_equal(strdup_to(&p->directory, "/home/x/a\nb"), 0);
        return p;
}

static sd_bus *open_bus(StandInManager *s, const JobAnswer *jobs, size_t n) {
        Dirs dirs = { .runtime_root = scratch };
        sd_bus *bus = NULL;

        *s = (StandInManager) { .jobs = jobs, .n_jobs = n };
        manager_start(s, in_scratch("bus"));
        assert_int_equal(user_bus_open(&dirs, &bus), 0);
        assert_int_equal(user_bus_wait(bus, NULL), 0);
        return bus;
}

static void close_bus(StandInManager *s, sd_bus *bus) {
        (void) sd_bus_flush_close_unref(bus);
        manager_stop(s);
}

/* Asks for the scope and waits. The message in `*ret_text`. */
static int scope(StandInManager *s, const JobAnswer *jobs, size_t n, const char *inactive, const char **ret_text) {
        _cleanup_plan_ Plan *p = plan();
        _cleanup_free_ char *cgroup = NULL;
        _cleanup_job_ Job job = { 0 };
        sd_bus *bus = open_bus(s, jobs, n);
        int r;

        s->inactive = inactive;
        messages_begin();
        r = scope_request(bus, p, &job);
        if (r >= 0)
                r = scope_wait(bus, p, &job, &cgroup);
        *ret_text = messages_end();
        job_clear(&job);
        close_bus(s, bus);
        return r;
}

static void test_scope_request(void **state) {
        static const char *const properties[] = {
                "StartTransientUnit claude-sandbox-my-team-0123abcd.scope replace",
                "Description Claude sandbox of work in /home/x/a\\x0ab;",
                "Slice claude-sandbox-my\\x2dteam.slice;",
                "Delegate true;",
                "CollectMode inactive-or-failed;",
                "TimeoutStopUSec 10000000;",
                "Controller :1.99;",
                "Wants claude-sandbox@my-team.service;",
                "PartOf claude-sandbox@my-team.service;",
                "After claude-sandbox@my-team.service ",
                "PIDFDs fd;",
        };
        StandInManager s;
        const char *text;

        /* This process is in no such scope: that is noticed. */
        assert_int_equal(scope(&s, &(JobAnswer) { .result = "done" }, 1, NULL, &text), -ESTALE);
        assert_one_message(text, "this process is not in it");
        for (size_t i = 0; i < ELEMENTSOF(properties); i++)
                assert_contains(s.log, properties[i]);
}

/* Each limit as the manager wants it: numbers, parts of what there is as parts of 2³² - 1, a quota as time of each second. */
static void test_scope_limits(void **state) {
        static const struct {
                LimitId id;
                const char *value, *property;
        } rows[] = {
                { LIMIT_MEMORY_MAX, "1.5G", "MemoryMax 1610612736;" },
                { LIMIT_MEMORY_HIGH, "50%", "MemoryHighScale 2147483648;" },
                { LIMIT_MEMORY_SWAP_MAX, "0", "MemorySwapMax 0;" },
                { LIMIT_MEMORY_LOW, "100%", "MemoryLowScale 4294967295;" },
                { LIMIT_MEMORY_MIN, "infinity", "MemoryMin 18446744073709551615;" },
                { LIMIT_TASKS_MAX, "512", "TasksMax 512;" },
                { LIMIT_CPU_QUOTA, "150%", "CPUQuotaPerSecUSec 1500000;" },
                { LIMIT_CPU_WEIGHT, "idle", "CPUWeight 0;" },
                { LIMIT_IO_WEIGHT, "", "IOWeight 18446744073709551615;" },
        };
        StandInManager s;
        const char *text;

        static_assert(ELEMENTSOF(rows) == _LIMIT_MAX, "every limit");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(limit_parse(rows[i].id, rows[i].value, &given.items[rows[i].id]), 0);
        assert_int_equal(scope(&s, &(JobAnswer) { .result = "done" }, 1, NULL, &text), -ESTALE);
        given = (Limits) { 0 };
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_contains(s.log, rows[i].property);

        /* What is not asked for is left to the manager. */
        assert_int_equal(scope(&s, &(JobAnswer) { .result = "done" }, 1, NULL, &text), -ESTALE);
        assert_null(strstr(s.log, "Memory"));
        assert_null(strstr(s.log, "TasksMax"));
}

/* systemd before 256 knows no PIDFDs. */
static void test_older_manager(void **state) {
        static const JobAnswer answers[] = { { .error = "org.freedesktop.DBus.Error.PropertyReadOnly" }, { .result = "done" } };
        char pid[32];
        StandInManager s;
        const char *text, *second;

        assert_int_equal(scope(&s, answers, 2, NULL, &text), -ESTALE);
        second = strchr(s.log, '\n') ?: "";
        (void) snprintf(pid, sizeof(pid), "PIDs %d;", (int) getpid());
        assert_contains(second, pid);
        assert_null(strstr(second, "PIDFDs"));

        /* Every other error is one. */
        assert_true(scope(&s, &(JobAnswer) { .error = "org.freedesktop.DBus.Error.InvalidArgs" }, 1, NULL, &text) < 0);
        assert_one_message(text, "did not start the scope claude-sandbox-my-team-0123abcd.scope (No claude-sandbox");
}

static void test_scope_failures(void **state) {
        StandInManager s;
        const char *text;

        assert_int_equal(scope(&s, &(JobAnswer) { .result = "dependency" }, 1, NULL, &text), -ECANCELED);
        assert_one_message(text, "(dependency). See: journalctl --user -u claude-sandbox@my-team.service");
        assert_true(scope(&s, &(JobAnswer) { .hangs_up = true }, 1, NULL, &text) < 0);
        assert_int_equal(scope(&s, &(JobAnswer) { .result = "done" }, 1, "_2escope", &text), -ESTALE);
        assert_one_message(text, "it is not active");
}

static int start_socket_from(bool early, StandInManager *s, const JobAnswer *jobs, size_t n, uint16_t *ret_port, const char **ret_text) {
        _cleanup_plan_ Plan *p = plan();
        sd_bus *bus = open_bus(s, jobs, n);
        BridgeSocket socket = { 0 };
        int r;

        messages_begin();
        if (early)
                assert_int_equal(bridge_socket_request(bus, p, &socket), 0);
        r = bridge_socket_wait(bus, p, &socket);
        if (r >= 0)
                *ret_port = socket.port;
        job_clear(&socket.job);
        *ret_text = messages_end();
        close_bus(s, bus);
        return r;
}

static int start_socket(StandInManager *s, const JobAnswer *jobs, size_t n, uint16_t *ret_port, const char **ret_text) {
        return start_socket_from(false, s, jobs, n, ret_port, ret_text);
}

static void test_socket(void **state) {
        static const char *const properties[] = {
                "StartTransientUnit claude-bridge@my-team-0123abcd.socket replace",
                "Netlink inet-diag 0;",
                "Backlog 4096;",
                "TriggerLimitIntervalUSec 0;",
                "CollectMode inactive-or-failed;",
                "DefaultDependencies false;",
                "Conflicts shutdown.target;",
                "Before shutdown.target;",
                "BindsTo claude-sandbox-my-team-0123abcd.scope;",
                "After claude-sandbox-my-team-0123abcd.scope;",
        };
        StandInManager s;
        const char *text;
        char address[64];
        uint16_t port = 0;

        assert_int_equal(start_socket(&s, &(JobAnswer) { .result = "done" }, 1, &port, &text), 0);
        assert_string_equal(text, "");
        assert_true(port > 0);
        for (size_t i = 0; i < ELEMENTSOF(properties); i++)
                assert_contains(s.log, properties[i]);
        (void) snprintf(address, sizeof(address), "Listen Stream 127.0.0.1:%u;", (unsigned) port);
        assert_contains(s.log, address);
        assert_null(strstr(s.log, "ReusePort"));
}

static unsigned count_lines(const char *s) {
        unsigned n = 0;

        for (; *s; s++)
                n += *s == '\n';
        return n;
}

/* Somebody took the number before the manager could listen, or the unit of the last try is not gone yet: another number. */
static void test_socket_other_port(void **state) {
        static const JobAnswer answers[] = {
                { .result = "failed" },
                { .error = "org.freedesktop.systemd1.UnitExists" },
                { .result = "failed" },
                { .result = "done" },
        };
        StandInManager s;
        const char *text;
        char address[64];
        uint16_t port = 0;

        assert_int_equal(start_socket(&s, answers, ELEMENTSOF(answers), &port, &text), 0);
        assert_string_equal(text, "");
        assert_int_equal(count_lines(s.log), 4);

        /* The port is the one of the last request. */
        (void) snprintf(address, sizeof(address), "Stream 127.0.0.1:%u", (unsigned) port);
        s.log[strlen(s.log) - 1] = '\0';
        assert_contains(strrchr(s.log, '\n') ?: "", address);
}

static void test_socket_failures(void **state) {
        static const JobAnswer busy[] = {
                { .result = "failed" }, { .result = "failed" }, { .result = "failed" }, { .result = "failed" }, { .result = "failed" },
                { .result = "failed" }, { .result = "failed" }, { .result = "failed" }, { .result = "failed" }, { .result = "failed" },
                { .result = "done" },
        };
        StandInManager s;
        const char *text;
        uint16_t port = 7;

        /* Asked for while its scope was not there yet: whatever was wrong then, it is asked for once more. */
        for (int early = 0; early < 2; early++) {
                static const JobAnswer answers[] = { { .error = "org.freedesktop.systemd1.NoSuchUnit" }, { .result = "done" } };
                uint16_t any;

                assert_int_equal(start_socket_from(early, &s, answers, ELEMENTSOF(answers), &any, &text) >= 0, early);
                assert_int_equal(count_lines(s.log), early ? 2 : 1);
        }

        /* Ten times, not for ever. */
        assert_true(start_socket(&s, busy, ELEMENTSOF(busy), &port, &text) < 0);
        assert_int_equal(count_lines(s.log), 10);
        assert_one_message(text, "did not start claude-bridge@my-team-0123abcd.socket (failed)");

        /* No other port helps against these. */
        assert_true(start_socket(&s, &(JobAnswer) { .error = "org.freedesktop.DBus.Error.AccessDenied" }, 1, &port, &text) < 0);
        assert_int_equal(count_lines(s.log), 1);
        assert_true(start_socket(&s, &(JobAnswer) { .result = "dependency" }, 1, &port, &text) < 0);
        assert_int_equal(count_lines(s.log), 1);
        assert_true(start_socket(&s, &(JobAnswer) { .hangs_up = true }, 1, &port, &text) < 0);
        assert_int_equal(count_lines(s.log), 1);
        assert_int_equal(port, 7);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_scope_request),
                cmocka_unit_test(test_scope_limits),
                cmocka_unit_test(test_older_manager),
                cmocka_unit_test(test_scope_failures),
                cmocka_unit_test(test_socket),
                cmocka_unit_test(test_socket_other_port),
                cmocka_unit_test(test_socket_failures),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
