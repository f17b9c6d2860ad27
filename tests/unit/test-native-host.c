/* SPDX-License-Identifier: MIT */

/* Which native host is connected to: case N05. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/fd.h"
#include "basic/str.h"
#include "bridge/native-host.h"
#include "scratch.h"

/* A socket in the scratch directory, `seconds` old by its time stamp; listening, unless `dead`. */
static int make_socket(const char *name, time_t seconds, bool dead) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        const struct timespec times[2] = { { .tv_sec = 1000000 - seconds }, { .tv_sec = 1000000 - seconds } };
        int fd;

        (void) snprintf(address.sun_path, sizeof(address.sun_path), "%s", in_scratch(name));
        (void) unlink(address.sun_path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &address, sizeof(address)), 0);
        assert_int_equal(utimensat(AT_FDCWD, address.sun_path, times, 0), 0);
        if (!dead)
                assert_int_equal(listen(fd, 8), 0);
        return dead ? fd_close(fd) : fd;
}

/* Whether that one, and no other, has got the connection. */
static bool got_it(int listen_fd) {
        int fd;

        fd = accept(listen_fd, NULL, NULL);
        return fd >= 0 && fd_close(fd) < 0;
}

static int clear(void **state) {
        assert_int_equal(scratch_remove(state), 0);
        return mkdir(scratch, 0700);
}

static void test_newest_live_one(void **state) {
        _cleanup_close_ int old = make_socket("11.sock", 100, false), newest = make_socket("22.sock", 50, false);
        _cleanup_close_ int fd = -EBADF, again = -EBADF, third = -EBADF;

        (void) make_socket("33.sock", 10, true);
        (void) make_socket("44.sock", 5, true);
        scratch_puts("55.sock", "a plain file");
        scratch_mkdir("66.sock");
        assert_int_equal(symlink("11.sock", in_scratch("77.sock")), 0);
        assert_int_equal(symlink("nowhere", in_scratch("88.sock")), 0);
        (void) make_socket("99.socket", 0, false);

        fd = native_host_connect(scratch);
        assert_true(fd >= 0);
        assert_true(got_it(newest));
        assert_false(got_it(old));

        /* It ends, and another starts. */
        newest = fd_close(newest);
        again = native_host_connect(scratch);
        assert_true(again >= 0);
        assert_true(got_it(old));
        old = fd_close(old);
        assert_int_equal(native_host_connect(scratch), -ENOENT);
        third = make_socket("12.sock", 200, false);
        fd = fd_close(fd);
        fd = native_host_connect(scratch);
        assert_true(fd >= 0);
        assert_true(got_it(third));
}

static void test_none(void **state) {
        assert_int_equal(native_host_connect(scratch), -ENOENT);
        assert_int_equal(native_host_connect(in_scratch("missing")), -ENOENT);
}

/* More dead ones than are ever looked at: a newer live one is found all the same. */
static void test_many(void **state) {
        _cleanup_close_ int fd = -EBADF, live = -EBADF;

        for (int i = 0; i < 200; i++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "%d.sock", i);
                (void) make_socket(name, 100 + i, true);
        }
        live = make_socket("1000.sock", 110, false);
        fd = native_host_connect(scratch);
        assert_true(fd >= 0);
        assert_true(got_it(live));
}

static void test_unsafe(void **state) {
        static const mode_t modes[] = { 0750, 0705, 0710, 0701, 0720, 0702, 0777, 01777 };
        _cleanup_close_ int live = make_socket("11.sock", 0, false);

        for (size_t i = 0; i < ELEMENTSOF(modes); i++) {
                assert_int_equal(chmod(scratch, modes[i]), 0);
                assert_int_equal(native_host_connect(scratch), -EPERM);
        }
        assert_int_equal(chmod(scratch, 0700), 0);

        scratch_mkdir("real");
        assert_int_equal(symlink(scratch, in_scratch("link")), 0);
        assert_int_equal(native_host_connect(in_scratch("link")), -EPERM);
        assert_int_equal(native_host_connect(in_scratch("11.sock")), -EPERM);

        if (geteuid() == 0) { /* somebody else's */
                assert_int_equal(chown(scratch, 1, (gid_t) -1), 0);
                assert_int_equal(native_host_connect(scratch), -EPERM);
                assert_int_equal(chown(scratch, 0, (gid_t) -1), 0);
                assert_int_equal(chown(in_scratch("11.sock"), 1, (gid_t) -1), 0);
                assert_int_equal(native_host_connect(scratch), -ENOENT);
        }
        assert_false(got_it(live));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_newest_live_one, clear),
                cmocka_unit_test_setup(test_none, clear),
                cmocka_unit_test_setup(test_many, clear),
                cmocka_unit_test_setup(test_unsafe, clear),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
