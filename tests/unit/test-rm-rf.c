/* SPDX-License-Identifier: MIT */

/* Removing a tree that somebody else made, who may not want it gone. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "scratch.h"
#include "shared/rm-rf.h"

#define LEVELS 1500 /* more than descriptors, and than a path can say */
#define FILES 500

static int scratch_fd(void) {
        int fd;

        fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

static void assert_gone(const char *name) {
        struct stat st;

        assert_int_equal(lstat(in_scratch(name), &st), -1);
        assert_int_equal(errno, ENOENT);
}

static void test_nothing(void **state) {
        _cleanup_close_ int fd = scratch_fd();

        assert_int_equal(rm_rf_at(fd, "nothing"), 0);
        assert_int_equal(rm_rf_at(fd, "nothing/below"), 0);
}

static void test_plain(void **state) {
        _cleanup_close_ int fd = scratch_fd();

        scratch_mkdir("plain");
        scratch_mkdir("plain/a");
        scratch_mkdir("plain/a/b");
        scratch_mkdir("plain/.hidden");
        scratch_puts("plain/a/b/file", "x");
        scratch_puts("plain/.hidden/file", "x");
        assert_int_equal(mkfifo(in_scratch("plain/fifo"), 0600), 0);
        for (unsigned i = 0; i < FILES; i++) {
                char name[32];

                (void) snprintf(name, sizeof(name), "plain/a/f%u", i);
                scratch_puts(name, "");
        }

        assert_int_equal(rm_rf_at(fd, "plain"), 0);
        assert_gone("plain");

        scratch_puts("file", "x");
        assert_int_equal(rm_rf_at(fd, "file"), 0);
        assert_gone("file");
}

static void test_links_are_not_followed(void **state) {
        _cleanup_close_ int fd = scratch_fd();

        scratch_mkdir("victim");
        scratch_puts("victim/file", "kept");
        scratch_mkdir("links");
        scratch_mkdir("links/sub");
        assert_int_equal(symlink("../victim", in_scratch("links/relative")), 0);
        assert_int_equal(symlink(in_scratch("victim"), in_scratch("links/sub/absolute")), 0);
        assert_int_equal(symlink("../victim/file", in_scratch("links/to-file")), 0);
        assert_int_equal(symlink("nowhere", in_scratch("links/dangling")), 0);
        assert_int_equal(symlink("loop", in_scratch("links/loop")), 0);

        assert_int_equal(rm_rf_at(fd, "links"), 0);
        assert_gone("links");
        assert_int_equal(access(in_scratch("victim/file"), F_OK), 0);

        /* The name itself a link, also with a slash behind it. */
        assert_int_equal(symlink("victim", in_scratch("link")), 0);
        assert_int_equal(rm_rf_at(fd, "link"), 0);
        assert_gone("link");
        assert_int_equal(access(in_scratch("victim/file"), F_OK), 0);

        assert_int_equal(rm_rf_at(fd, "victim"), 0);
}

static void test_modes(void **state) {
        static const mode_t modes[] = { 0000, 0100, 0200, 0300, 0400, 0500, 0600 };
        _cleanup_close_ int fd = scratch_fd();

        scratch_mkdir("modes");
        for (size_t i = 0; i < ELEMENTSOF(modes); i++) {
                char name[64];

                (void) snprintf(name, sizeof(name), "modes/%zu", i);
                scratch_mkdir(name);
                (void) snprintf(name, sizeof(name), "modes/%zu/sub", i);
                scratch_mkdir(name);
                (void) snprintf(name, sizeof(name), "modes/%zu/sub/file", i);
                scratch_puts(name, "x");
                (void) snprintf(name, sizeof(name), "modes/%zu/sub", i);
                assert_int_equal(chmod(in_scratch(name), modes[i]), 0);
                (void) snprintf(name, sizeof(name), "modes/%zu", i);
                assert_int_equal(chmod(in_scratch(name), modes[i]), 0);
        }
        assert_int_equal(chmod(in_scratch("modes"), 0), 0);

        assert_int_equal(rm_rf_at(fd, "modes"), 0);
        assert_gone("modes");
}

/* A chain of directories; every fifth may not be written. */
static void make_deep(const char *name, unsigned levels) {
        int fd, below;

        scratch_mkdir(name);
        fd = open(in_scratch(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (unsigned i = 0; i < levels; i++) {
                assert_true(fd >= 0);
                assert_int_equal(mkdirat(fd, "d", 0700), 0);
                assert_true(i % 100 != 0 || mkdirat(fd, ".lifted-0", 0700) == 0);
                below = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(i % 5 != 0 || fchmod(fd, 0500) == 0);
                fd_close(fd);
                fd = below;
        }
        fd_close(fd);
}

static void test_deep(void **state) {
        _cleanup_close_ int fd = scratch_fd();
        struct rlimit few;
        int status;
        pid_t pid;

        make_deep("deep", LEVELS);

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &few), 0);
        few.rlim_cur = 256; /* the soft limit only: valgrind lets nobody change the other */

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(setrlimit(RLIMIT_NOFILE, &few) < 0 || rm_rf_at(fd, "deep") < 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_gone("deep");
}

/* Fills what is being removed, until it is killed. */
static void _noreturn_ fill(int fd) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);

        for (unsigned i = 0;; i++) {
                char a[64], b[64];

                (void) snprintf(a, sizeof(a), "busy/d%u", i % 7);
                (void) snprintf(b, sizeof(b), "busy/d%u/f%u", i % 7, i);
                (void) mkdirat(fd, a, 0700);
                (void) fd_close(openat(fd, b, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));

                /* A directory becomes a link to the victim, and a directory again. */
                (void) mkdirat(fd, "busy/swap", 0700);
                (void) renameat2(fd, "busy/swap", fd, "link", RENAME_EXCHANGE);
        }
}

static void test_busy(void **state) {
        _cleanup_close_ int fd = scratch_fd();
        int r;
        pid_t pid;

        scratch_mkdir("kept");
        scratch_puts("kept/file", "kept");
        assert_int_equal(symlinkat("kept", fd, "link"), 0);
        scratch_mkdir("busy");

        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                fill(fd);

        /* While it writes, bounded. */
        for (unsigned i = 0; i < 20; i++) {
                r = rm_rf_at(fd, "busy");
                assert_true(r == 0 || r == -ENOTEMPTY);
                (void) mkdirat(fd, "busy", 0700);
        }

        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(rm_rf_at(fd, "busy"), 0);
        assert_gone("busy");
        assert_int_equal(access(in_scratch("kept/file"), F_OK), 0);

        assert_int_equal(rm_rf_at(fd, "link"), 0);
        assert_int_equal(rm_rf_at(fd, "kept"), 0);
}

/* What cannot be removed is an error; the modes of the directory that holds it are not ours to change. */
static void test_errors(void **state) {
        _cleanup_close_ int fd = scratch_fd();
        char name[NAME_MAX + 2];

        scratch_puts("no-directory", "x");
        assert_int_equal(rm_rf_at(fd, "no-directory/below"), -ENOTDIR);
        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_int_equal(rm_rf_at(fd, name), -ENAMETOOLONG);

        if (geteuid() == 0)
                return; /* who may do everything */

        scratch_mkdir("stuck");
        scratch_mkdir("stuck/tree");
        scratch_mkdir("stuck/tree/sub");
        scratch_puts("stuck/tree/sub/file", "x");
        assert_int_equal(chmod(in_scratch("stuck"), 0500), 0);
        assert_int_equal(rm_rf_at(fd, "stuck/tree"), -EACCES);
        assert_int_equal(rm_rf_at(fd, "stuck"), 0);
        assert_gone("stuck");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_nothing),
                cmocka_unit_test(test_plain),
                cmocka_unit_test(test_links_are_not_followed),
                cmocka_unit_test(test_modes),
                cmocka_unit_test(test_deep),
                cmocka_unit_test(test_busy),
                cmocka_unit_test(test_errors),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
