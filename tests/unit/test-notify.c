/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/fd.h"
#include "scratch.h"
#include "shared/notify.h"

/* Somebody to notify; `name` begins with "/" or "@", and is what $NOTIFY_SOCKET becomes. */
static int listen_at(const char *name) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        size_t n = strlen(name);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        memcpy(address.sun_path, name, n);
        if (name[0] == '@')
                address.sun_path[0] = '\0';
        assert_int_equal(bind(fd, (const struct sockaddr *) &address, (socklen_t) (offsetof(struct sockaddr_un, sun_path) + n)), 0);
        assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
        return fd;
}

static void assert_arrives(int fd, const char *expected) {
        char text[100];
        ssize_t n = recv(fd, text, sizeof(text), 0);

        assert_int_equal(n, strlen(expected));
        assert_memory_equal(text, expected, n);
}

static void test_path(void **state) {
        _cleanup_close_ int fd = listen_at(in_scratch("notify"));

        assert_int_equal(notify_ready(), 1);
        assert_int_equal(notify_send("STOPPING=1"), 1);
        assert_int_equal(notify_sendf("STATUS=%d of %s", 3, "five"), 1);
        assert_arrives(fd, "READY=1");
        assert_arrives(fd, "STOPPING=1");
        assert_arrives(fd, "STATUS=3 of five");
}

static void test_abstract_name(void **state) {
        char name[64];
        _cleanup_close_ int fd = -EBADF;

        (void) snprintf(name, sizeof(name), "@claude-profile/test-notify/%d", (int) getpid());
        fd = listen_at(name);
        assert_int_equal(notify_send("A=1"), 1);
        assert_arrives(fd, "A=1");
}

/* Neither waits nor forgets what is in the queue. */
static void test_nobody_reads(void **state) {
        _cleanup_close_ int fd = listen_at(in_scratch("full"));
        int n = 0, r;

        (void) alarm(30);
        while ((r = notify_sendf("N=%d", n)) == 1)
                n++;
        (void) alarm(0);
        assert_int_equal(r, -EAGAIN);
        assert_true(n > 0);

        assert_arrives(fd, "N=0");
        assert_int_equal(notify_send("LAST=1"), 1);
}

static void test_nobody_there(void **state) {
        char name[200];

        (void) unsetenv("NOTIFY_SOCKET");
        assert_int_equal(notify_send("A=1"), 0);

        (void) setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
        assert_int_equal(notify_send("A=1"), -ENOENT);
        (void) setenv("NOTIFY_SOCKET", "vsock:2:1234", 1);
        assert_int_equal(notify_send("A=1"), -EAFNOSUPPORT);
        (void) setenv("NOTIFY_SOCKET", "", 1);
        assert_int_equal(notify_send("A=1"), -EAFNOSUPPORT);

        memset(name, 'x', sizeof(name));
        name[0] = '/';
        name[sizeof(name) - 1] = '\0';
        (void) setenv("NOTIFY_SOCKET", name, 1);
        assert_int_equal(notify_send("A=1"), -EAFNOSUPPORT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_path),
                cmocka_unit_test(test_abstract_name),
                cmocka_unit_test(test_nobody_reads),
                cmocka_unit_test(test_nobody_there),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
