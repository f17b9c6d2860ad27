/* SPDX-License-Identifier: MIT */

/* Jobs of the user manager, with a stand-in for it. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/str.h"
#include "scratch.h"
#include "stand-in-manager.h"

#define UNIT "x-y.service"

static Dirs dirs_of(const char *runtime) {
        return (Dirs) { .runtime_root = (char *) runtime };
}

static sd_bus *open_bus(StandInManager *s, const JobAnswer *jobs, size_t n) {
        Dirs dirs = dirs_of(scratch);
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

/* One StartUnit against one answer. */
static int start(const JobAnswer *answer, char **ret_why) {
        StandInManager s;
        sd_bus *bus = open_bus(&s, answer, 1);
        int r;

        r = unit_start(bus, UNIT, NULL, ret_why);
        assert_string_equal(s.log, "StartUnit " UNIT " replace\n");
        close_bus(&s, bus);
        return r;
}

static void test_done(void **state) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(start(&(JobAnswer) { .result = "done" }, &why), 0);
        /* Only its own job counts. */
        assert_int_equal(start(&(JobAnswer) { .result = "done", .other_first = true }, &why), 0);
        assert_null(why);
}

static void test_not_done(void **state) {
        static const char *const results[] = { "failed", "dependency", "canceled", "timeout", "skipped" };

        for (size_t i = 0; i < ELEMENTSOF(results); i++) {
                _cleanup_free_ char *why = NULL;

                assert_int_equal(start(&(JobAnswer) { .result = results[i] }, &why), -ECANCELED);
                assert_string_equal(why, results[i]);
        }
}

static void test_refused(void **state) {
        _cleanup_free_ char *why = NULL;
        int r;

        r = start(&(JobAnswer) { .error = "org.freedesktop.DBus.Error.AccessDenied" }, &why);
        assert_int_equal(r, -EACCES);
        assert_string_equal(why, "No " UNIT " for you");
        assert_true(start(&(JobAnswer) { .error = "org.example.Odd" }, &why) < 0);
}

/* The manager goes away in the middle: an error at once, not when time is up. */
static void test_hang_up(void **state) {
        _cleanup_free_ char *why = NULL;
        uint64_t begin = now_usec();

        assert_true(start(&(JobAnswer) { .hangs_up = true }, &why) < 0);
        assert_in_range(now_usec() - begin, 0, BUS_TIMEOUT_USEC / 2);
}

static unsigned asked;

static int give_up_soon(void) {
        return ++asked >= 3;
}

static sd_bus_message *start_message(sd_bus *bus) {
        sd_bus_message *m = NULL;

        assert_true(sd_bus_message_new_method_call(bus, &m, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE, "StartUnit") >= 0);
        assert_true(sd_bus_message_append(m, "ss", UNIT, "replace") >= 0);
        return m;
}

static void test_waiting(void **state) {
        static const JobAnswer never[] = { { .result = NULL }, { .result = NULL } };
        _cleanup_job_ Job bounded = { 0 }, given_up = { .give_up = give_up_soon };
        _cleanup_free_ char *why = NULL;
        sd_bus_message *m;
        StandInManager s;
        sd_bus *bus = open_bus(&s, never, ELEMENTSOF(never));

        m = start_message(bus);
        assert_true(job_send(&bounded, bus, m) >= 0);
        m = sd_bus_message_unref(m);
        assert_int_equal(job_wait_for(&bounded, 50 * USEC_PER_MSEC, &why), -ETIMEDOUT);
        assert_int_equal(job_wait_for(&bounded, 0, &why), -ETIMEDOUT);

        m = start_message(bus);
        assert_true(job_send(&given_up, bus, m) >= 0);
        m = sd_bus_message_unref(m);
        assert_int_equal(job_wait(&given_up, &why), -EINTR);
        assert_null(why);

        job_clear(&bounded);
        job_clear(&given_up);
        job_clear(&given_up);
        close_bus(&s, bus);
}

static void test_stop(void **state) {
        static const JobAnswer answers[] = {
                { .result = "done" },
                { .error = "org.freedesktop.systemd1.NoSuchUnit" },
                { .error = "org.freedesktop.DBus.Error.AccessDenied" },
        };
        _cleanup_free_ char *why = NULL;
        StandInManager s;
        sd_bus *bus = open_bus(&s, answers, ELEMENTSOF(answers));

        assert_int_equal(unit_stop(bus, UNIT, 60 * USEC_PER_SEC, &why), 0);
        /* One that is not there has been stopped. */
        assert_int_equal(unit_stop(bus, UNIT, 60 * USEC_PER_SEC, &why), 0);
        assert_int_equal(unit_stop(bus, UNIT, 60 * USEC_PER_SEC, &why), -EACCES);
        assert_string_equal(s.log, "StopUnit " UNIT " replace\nStopUnit " UNIT " replace\nStopUnit " UNIT " replace\n");
        close_bus(&s, bus);
}

/* A unit that does not stop is killed. */
static void test_stop_that_hangs(void **state) {
        _cleanup_free_ char *why = NULL;
        StandInManager s;
        sd_bus *bus = open_bus(&s, &(JobAnswer) { .result = NULL }, 1);

        assert_int_equal(unit_stop(bus, UNIT, 50 * USEC_PER_MSEC, &why), 0);
        assert_int_equal(s.kills, 1);
        close_bus(&s, bus);
}

static void test_properties(void **state) {
        StandInManager s;
        _cleanup_free_ char *value = NULL;
        sd_bus *bus = open_bus(&s, NULL, 0);

        assert_int_equal(unit_is_active(bus, UNIT), 1);
        s.inactive = "x_2dy_2eservice";
        assert_int_equal(unit_is_active(bus, UNIT), 0);
        assert_int_equal(unit_is_active(bus, "other.service"), 1);
        assert_true(unit_get_string(bus, UNIT, "Scope", "ControlGroup", &value) >= 0);
        assert_non_null(value);
        close_bus(&s, bus);
}

/* The address is text in a language of its own: every character of the path must come through. */
static void test_addresses(void **state) {
        static const char *const names[] = { "plain", "a b", "a,b", "a;b", "a:b=c", "100%", "%41", "\xc3\xa9", "\xff", "a\nb", "a\\b", "a\"b'", "#*?" };

        for (size_t i = 0; i < ELEMENTSOF(names); i++) {
                StandInManager s = { 0 };
                char path[sizeof(((struct sockaddr_un *) NULL)->sun_path)];
                sd_bus *bus = NULL;
                Dirs dirs;

                scratch_mkdir(names[i]);
                (void) snprintf(path, sizeof(path), "%.90s/bus", in_scratch(names[i]));
                dirs = dirs_of(in_scratch(names[i]));
                manager_start(&s, path);
                assert_int_equal(user_bus_open(&dirs, &bus), 0);
                assert_int_equal(user_bus_wait(bus, NULL), 0);
                close_bus(&s, bus);
        }
}

static void test_no_manager(void **state) {
        Dirs none = { 0 }, empty = dirs_of(in_scratch("empty"));
        sd_bus *bus = NULL;

        /* No other bus is a substitute. */
        (void) setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/dbus/system_bus_socket", 1);
        assert_int_equal(user_bus_open(&none, &bus), -ENOMEDIUM);
        scratch_mkdir("empty");
        assert_int_equal(user_bus_open(&empty, &bus), -ENOENT);
        scratch_puts("empty/bus", "");
        assert_int_equal(user_bus_open(&empty, &bus), -ECONNREFUSED);
        assert_null(bus);
}

/* One that accepts and says nothing. */
static void test_silent_bus(void **state) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        Dirs dirs = dirs_of(in_scratch("silent"));
        sd_bus *bus = NULL;
        int fd;

        scratch_mkdir("silent");
        (void) snprintf(sa.sun_path, sizeof(sa.sun_path), "%.100s", in_scratch("silent/bus"));
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        assert_int_equal(listen(fd, 1), 0);

        dirs = dirs_of(in_scratch("silent"));
        assert_int_equal(user_bus_open(&dirs, &bus), 0);
        asked = 0;
        assert_int_equal(user_bus_wait(bus, give_up_soon), -EINTR);
        (void) sd_bus_close_unref(bus);
        fd_close(fd);
}

static int reload(StandInManager *s) {
        Dirs dirs = dirs_of(scratch);
        int r;

        manager_start(s, in_scratch("bus"));
        r = user_manager_reload(&dirs);
        manager_stop(s);
        return r;
}

static void test_reload(void **state) {
        static const char *const no_manager[] = { "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner" };
        Dirs nowhere = dirs_of("/nonexistent"), none = dirs_of(NULL), stale = dirs_of(scratch);
        StandInManager s = { 0 };

        assert_int_equal(reload(&s), 0);
        assert_string_equal(s.log, "Reload\n");

        s = (StandInManager) { .reload_error = "org.freedesktop.DBus.Error.AccessDenied" };
        assert_int_equal(reload(&s), -EACCES);

        /* No manager, in each way that there is none. */
        for (size_t i = 0; i < ELEMENTSOF(no_manager); i++) {
                s = (StandInManager) { .reload_error = no_manager[i] };
                assert_int_equal(reload(&s), -ECONNREFUSED);
        }
        assert_int_equal(user_manager_reload(&none), -ENOMEDIUM);
        assert_int_equal(user_manager_reload(&nowhere), -ECONNREFUSED);
        assert_int_equal(user_manager_reload(&stale), -ECONNREFUSED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_done),
                cmocka_unit_test(test_not_done),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_hang_up),
                cmocka_unit_test(test_waiting),
                cmocka_unit_test(test_stop),
                cmocka_unit_test(test_stop_that_hangs),
                cmocka_unit_test(test_properties),
                cmocka_unit_test(test_addresses),
                cmocka_unit_test(test_no_manager),
                cmocka_unit_test(test_silent_bus),
                cmocka_unit_test(test_reload),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
