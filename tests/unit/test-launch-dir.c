/* SPDX-License-Identifier: MIT */

/* Launch directories: names, the lock that says "alive" between processes, and making them while others look and clear up. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "shared/launch-dir.h"
#include "shared/rm-rf.h"

#define ID "0123abcd"
#define MAKERS 4
#define ROUNDS 150

static Dirs dirs;

static int base_open(void) {
        int fd;

        fd = launch_base_open(&dirs);
        assert_true(fd >= 0);
        return fd;
}

/* The runtime directory of a test. */
static int setup(void **state) {
        static char runtime[PATH_MAX + 256];

        (void) snprintf(runtime, sizeof(runtime), "%s", in_scratch("claude-profile"));
        dirs.runtime = runtime;
        return 0;
}

static int teardown(void **state) {
        return rm_rf_at(AT_FDCWD, dirs.runtime);
}

static void test_names(void **state) {
        static const struct {
                const char *name, *profile; /* NULL: none */
        } rows[] = {
                { "work-" ID, "work" },
                { "a-" ID, "a" },
                { "a-b-" ID, "a-b" },
                { "a--" ID, "a-" },
                { "a." ID "-" ID, "a." ID },
                { "x-00000000-" ID, "x-00000000" },
                { "-" ID, NULL },
                { ID, NULL },
                { "", NULL },
                { "work", NULL },
                { "work-", NULL },
                { "work" ID, NULL },
                { "work-0123abc", NULL },
                { "work-0123ABCD", NULL },
                { "work-0123abcg", NULL },
                { "work-" ID ".sock", NULL },
                { "work.sock", NULL },
                { ".work-" ID, NULL },
                { ".new-work-" ID, NULL },
                { "../x-" ID, NULL },
                { "a/b-" ID, NULL },
                { "a b-" ID, NULL },
                { "work.service-" ID, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *profile = NULL;
                const char *id = NULL;
                int r;

                r = launch_dir_parse_name(rows[i].name, &profile, &id);
                if (!rows[i].profile) {
                        if (r != -EINVAL)
                                fail_msg("\"%s\" is taken for a launch directory", rows[i].name);
                        continue;
                }
                assert_int_equal(r, 0);
                assert_string_equal(profile, rows[i].profile);
                assert_string_equal(id, rows[i].name + strlen(rows[i].profile) + 1);
        }
}

static void test_base(void **state) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        assert_int_equal(launch_base_open(&(Dirs) { 0 }), -ENOMEDIUM);
        assert_int_equal(launch_any_alive(&(Dirs) { 0 }, "work"), 0);

        /* Looking makes nothing. */
        assert_int_equal(launch_any_alive(&dirs, "work"), 0);
        assert_int_equal(access(dirs.runtime, F_OK), -1);

        fd = base_open();
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        fd = fd_close(fd);

        /* Others' access is taken away; a link or a file is not used. */
        assert_int_equal(chmod(dirs.runtime, 0755), 0);
        fd = base_open();
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        fd = fd_close(fd);

        assert_int_equal(rename(dirs.runtime, in_scratch("elsewhere")), 0);
        assert_int_equal(symlink("elsewhere", dirs.runtime), 0);
        fd = launch_base_open(&dirs);
        assert_true(fd == -ELOOP || fd == -ENOTDIR);
        assert_int_equal(unlink(dirs.runtime), 0);
        scratch_puts("claude-profile", "");
        assert_int_equal(launch_base_open(&dirs), -ENOTDIR);
        assert_int_equal(rmdir(in_scratch("elsewhere")), 0);
}

static void test_life(void **state) {
        _cleanup_close_ int base = base_open(), fd = -EBADF;
        struct stat st, by_name;

        fd = launch_dir_create(base, "work-" ID);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fstatat(base, "work-" ID, &by_name, 0), 0);
        assert_int_equal(st.st_ino, by_name.st_ino);
        assert_int_equal(faccessat(base, ".new-work-" ID, F_OK, 0), -1);

        assert_int_equal(launch_dir_create(base, "work-" ID), -EEXIST);
        assert_int_equal(faccessat(base, ".new-work-" ID, F_OK, 0), -1);
        assert_int_equal(launch_dir_claim(base, "work-" ID), -EBUSY);
        assert_int_equal(launch_any_alive(&dirs, "work"), 1);
        assert_int_equal(launch_any_alive(&dirs, "wor"), 0);
        assert_int_equal(launch_any_alive(&dirs, "work-"), 0);

        /* Its launcher is gone. */
        fd = fd_close(fd);
        assert_int_equal(launch_any_alive(&dirs, "work"), 0);
        fd = launch_dir_claim(base, "work-" ID);
        assert_true(fd >= 0);
        assert_int_equal(launch_dir_claim(base, "work-01234567"), -ENOENT);
}

/* The lock ends with the process that holds it, however that ends, and not before. */
static void test_between_processes(void **state) {
        _cleanup_close_ int base = base_open(), claimed = -EBADF;
        int fds[2];
        pid_t pid;
        char c;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (launch_dir_create(base, "work-" ID) < 0 || write(fds[1], "x", 1) != 1)
                        _exit(1);
                for (;;)
                        (void) pause();
        }
        fd_close(fds[1]);
        assert_int_equal(read(fds[0], &c, 1), 1);
        fd_close(fds[0]);

        assert_int_equal(launch_dir_claim(base, "work-" ID), -EBUSY);
        assert_int_equal(launch_any_alive(&dirs, "work"), 1);
        assert_int_equal(launch_any_alive(&dirs, "other"), 0);

        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_int_equal(launch_any_alive(&dirs, "work"), 0);
        claimed = launch_dir_claim(base, "work-" ID);
        assert_true(claimed >= 0);
}

static int add_name(int base_fd, const char *name, void *userdata) {
        return strv_add(userdata, name);
}

static int stop_at_once(int base_fd, const char *name, void *userdata) {
        ++*(unsigned *) userdata;
        return -ECANCELED;
}

static void test_foreach(void **state) {
        static const char *const there[] = { "work-" ID, "work-01234567", ".new-work-89abcdef", "work-2-" ID, "other-" ID, ".new-other-" ID,
                "work", ".new-work", ".new-.new-work-" ID };
        _cleanup_strv_ char **names = NULL, **others = NULL, **none = NULL;
        _cleanup_close_ int base = base_open();
        unsigned n = 0;

        for (size_t i = 0; i < ELEMENTSOF(there); i++)
                assert_int_equal(mkdirat(base, there[i], 0700), 0);
        scratch_puts("claude-profile/work.sock", "");

        assert_int_equal(launch_dir_foreach(base, "work", add_name, &names), 0);
        assert_int_equal(strv_length(names), 3);
        for (size_t i = 0; i < 3; i++)
                assert_true(strv_contains(names, there[i]));

        /* From the start, each time; the caller's descriptor stays usable. */
        assert_int_equal(launch_dir_foreach(base, "work-2", add_name, &others), 0);
        assert_int_equal(strv_length(others), 1);
        assert_int_equal(launch_dir_foreach(base, "nobody", add_name, &none), 0);
        assert_null(none);

        assert_int_equal(launch_dir_foreach(base, "work", stop_at_once, &n), -ECANCELED);
        assert_int_equal(n, 1);
}

/* A launcher that died, or was held up, before its directory had a name. */
static void test_unborn(void **state) {
        _cleanup_close_ int base = base_open(), looker = -EBADF, fd = -EBADF;

        assert_int_equal(mkdirat(base, ".new-work-" ID, 0700), 0);
        assert_int_equal(launch_any_alive(&dirs, "work"), 0);

        /* Somebody looks at it, and it counts as alive once its launcher has locked it. */
        looker = openat(base, ".new-work-" ID, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(looker, LOCK_SH | LOCK_NB), 0);
        assert_int_equal(launch_any_alive(&dirs, "work"), 0);
        assert_int_equal(flock(looker, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(launch_any_alive(&dirs, "work"), 1);
        looker = fd_close(looker);

        /* It does not keep the launch from being made. */
        fd = launch_dir_create(base, "work-" ID);
        assert_true(fd >= 0);
        assert_int_equal(faccessat(base, ".new-work-" ID, F_OK, 0), -1);
}

/* One that never lets go: bounded, and nothing is left. */
static void test_create_is_bounded(void **state) {
        _cleanup_close_ int base = base_open(), holder = -EBADF;

        assert_int_equal(mkdirat(base, ".new-work-" ID, 0700), 0);
        holder = launch_dir_claim(base, ".new-work-" ID);
        assert_true(holder >= 0);
        assert_int_equal(launch_dir_create(base, "work-" ID), -EBUSY);
        assert_int_equal(faccessat(base, ".new-work-" ID, F_OK, 0), -1);
        assert_int_equal(faccessat(base, "work-" ID, F_OK, 0), -1);
}

static int clear_up(int base_fd, const char *name, void *userdata) {
        _cleanup_close_ int fd = launch_dir_claim(base_fd, name);

        return fd < 0 ? 0 : rm_rf_at(base_fd, name);
}

/* Launches that come and go; none may fail, and none may lose its directory while it lives. */
static void _noreturn_ make_launches(unsigned maker) {
        int base = launch_base_open(&dirs);

        for (unsigned i = 0; i < ROUNDS; i++) {
                char name[64];
                int fd, file;

                (void) snprintf(name, sizeof(name), "work-%04x%04x", maker, i);
                fd = launch_dir_create(base, name);
                if (fd < 0)
                        _exit(10);
                file = openat(fd, "launch.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
                if (file < 0 || faccessat(base, name, F_OK, 0) < 0)
                        _exit(11);
                fd_close(file);

                /* Every other one dies without a word. */
                if (i % 2 == 0 && rm_rf_at(base, name) < 0)
                        _exit(12);
                fd_close(fd);
        }

        _exit(0);
}

static void _noreturn_ look_around(bool clears_up) {
        int base = launch_base_open(&dirs);

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
                if (launch_any_alive(&dirs, "work") < 0 || (clears_up && launch_dir_foreach(base, "work", clear_up, NULL) < 0))
                        _exit(20);
}

static void test_crowd(void **state) {
        _cleanup_close_ int base = base_open();
        pid_t makers[MAKERS], lookers[3];
        _cleanup_strv_ char **left = NULL;
        int status;

        for (unsigned i = 0; i < ELEMENTSOF(lookers); i++) {
                lookers[i] = fork();
                if (lookers[i] == 0)
                        look_around(i == 0);
        }
        for (unsigned i = 0; i < MAKERS; i++) {
                makers[i] = fork();
                if (makers[i] == 0)
                        make_launches(i);
        }

        for (unsigned i = 0; i < MAKERS; i++) {
                assert_int_equal(waitpid(makers[i], &status, 0), makers[i]);
                assert_int_equal(status, 0);
        }
        for (unsigned i = 0; i < ELEMENTSOF(lookers); i++) {
                assert_int_equal(kill(lookers[i], SIGKILL), 0);
                assert_int_equal(waitpid(lookers[i], &status, 0), lookers[i]);
                assert_int_equal(status, SIGKILL);
        }

        assert_int_equal(launch_dir_foreach(base, "work", clear_up, NULL), 0);
        assert_int_equal(launch_dir_foreach(base, "work", add_name, &left), 0);
        assert_null(left);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test_setup_teardown(test_base, setup, teardown),
                cmocka_unit_test_setup_teardown(test_life, setup, teardown),
                cmocka_unit_test_setup_teardown(test_between_processes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_foreach, setup, teardown),
                cmocka_unit_test_setup_teardown(test_unborn, setup, teardown),
                cmocka_unit_test_setup_teardown(test_create_is_bounded, setup, teardown),
                cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
