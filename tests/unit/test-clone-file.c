/* SPDX-License-Identifier: MIT */

/* Copies that appear whole or not at all. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "scratch.h"
#include "shared/clone-file.h"

#define BIG (5 * MIB / 2 + 7)

static int open_directory(const char *path) {
        int fd;

        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

/* A file of `n` bytes, of which each differs from its neighbours. */
static int source_of(const char *name, size_t n) {
        _cleanup_free_ unsigned char *data = malloc(n + 1);
        int fd;

        assert_non_null(data);
        for (size_t i = 0; i < n; i++)
                data[i] = (unsigned char) (i * 7 + i / 251);
        scratch_write(name, data, n);

        fd = open(in_scratch(name), O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

static void assert_same(int source_fd, int dir_fd, const char *name, mode_t mode) {
        _cleanup_free_ char *a = NULL, *b = NULL;
        struct stat st;
        size_t n, m;

        assert_int_equal(lseek(source_fd, 0, SEEK_SET), 0);
        assert_int_equal(io_read_all(source_fd, 16 * MIB, &a, &n), 0);
        assert_int_equal(io_read_file_at(dir_fd, name, 16 * MIB, &b, &m), 0);
        assert_int_equal(n, m);
        assert_memory_equal(a, b, n);
        assert_int_equal(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode & 07777, mode);
}

/* Entries besides "." and "..". */
static unsigned count_entries(const char *path) {
        unsigned n = 0;
        DIR *d;

        d = opendir(path);
        assert_non_null(d);
        while (readdir(d))
                n++;
        (void) closedir(d);
        return n - 2;
}

static void test_sizes(void **state) {
        static const size_t sizes[] = { 0, 1, 4096, 65537, BIG };
        mode_t old;

        scratch_mkdir("sizes");
        old = umask(0077);
        for (size_t i = 0; i < ELEMENTSOF(sizes); i++) {
                _cleanup_close_ int source = source_of("source", sizes[i]), target = open_directory(in_scratch("sizes"));

                /* Whatever the offset of the source's descriptor is. */
                assert_int_equal(lseek(source, 0, SEEK_END), (off_t) sizes[i]);
                assert_int_equal(clone_file_at(source, target, "copy", 0755), 0);
                assert_same(source, target, "copy", 0755);
                assert_int_equal(count_entries(in_scratch("sizes")), 1);
        }
        (void) umask(old);
}

/* To another file system, where the kernel cannot clone. */
static void test_other_file_system(void **state) {
        char path[] = "/dev/shm/claude-profile-test-XXXXXX";
        _cleanup_close_ int source = source_of("source", BIG), target = -EBADF;

        if (!mkdtemp(path))
                return; /* none here */
        target = open_directory(path);
        assert_int_equal(clone_file_at(source, target, "copy", 0600), 0);
        assert_same(source, target, "copy", 0600);
        assert_int_equal(unlinkat(target, "copy", 0), 0);
        assert_int_equal(rmdir(path), 0);
}

typedef struct Told {
        unsigned calls;
        uint64_t last, total;
} Told;

static void remember(uint64_t done, uint64_t total, void *userdata) {
        Told *told = userdata;

        assert_true(told->calls == 0 ? done == 0 : done > told->last && done <= total);
        *told = (Told) { told->calls + 1, done, total };
}

/* Either nothing takes time, or it is told from the beginning to the end. */
static void test_progress(void **state) {
        _cleanup_close_ int source = source_of("source", BIG), dir = -EBADF, target = -EBADF;
        Told told = { 0 };

        scratch_mkdir("progress");
        dir = open_directory(in_scratch("progress"));
        target = openat(dir, "copy", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(target >= 0);
        assert_int_equal(clone_contents(source, target, remember, &told), 0);
        assert_same(source, dir, "copy", 0600);
        if (told.calls > 0) {
                assert_true(told.calls >= 2);
                assert_int_equal(told.last, BIG);
                assert_int_equal(told.total, BIG);
        }
}

static void test_replaces(void **state) {
        _cleanup_close_ int source = source_of("source", 100), target = -EBADF, before = -EBADF;
        char c;

        scratch_mkdir("replaces");
        target = open_directory(in_scratch("replaces"));
        scratch_puts("replaces/copy", "old");
        before = openat(target, "copy", O_RDONLY | O_CLOEXEC);
        assert_int_equal(clone_file_at(source, target, "copy", 0644), 0);
        assert_same(source, target, "copy", 0644);

        /* Who has the old one open keeps it. */
        assert_int_equal(read(before, &c, 1), 1);
        assert_int_equal(c, 'o');

        /* A link is replaced, never written through. */
        scratch_puts("victim", "kept");
        assert_int_equal(unlinkat(target, "copy", 0), 0);
        assert_int_equal(symlinkat("../victim", target, "copy"), 0);
        assert_int_equal(clone_file_at(source, target, "copy", 0644), 0);
        assert_same(source, target, "copy", 0644);
        before = (fd_close(before), open(in_scratch("victim"), O_RDONLY | O_CLOEXEC));
        assert_int_equal(read(before, &c, 1), 1);
        assert_int_equal(c, 'k');
}

/* What fails leaves nothing, and what was there stays. */
static void test_failures(void **state) {
        const struct rlimit small = { .rlim_cur = 64 * KIB, .rlim_max = RLIM_INFINITY };
        _cleanup_close_ int source = source_of("source", MIB), target = -EBADF, directory = open_directory(scratch);
        int status;
        pid_t pid;

        scratch_mkdir("fails");
        scratch_mkdir("fails/copy");
        target = open_directory(in_scratch("fails"));
        assert_int_equal(clone_file_at(source, target, "copy", 0644), -EISDIR);
        assert_int_equal(count_entries(in_scratch("fails")), 1);
        assert_int_equal(rmdir(in_scratch("fails/copy")), 0);

        assert_int_equal(clone_file_at(directory, target, "copy", 0644), -EISDIR);
        assert_int_equal(count_entries(in_scratch("fails")), 0);

        /* No room: the process's own limit stands for a full disk. */
        scratch_puts("fails/copy", "old");
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void) signal(SIGXFSZ, SIG_IGN);
                _exit(setrlimit(RLIMIT_FSIZE, &small) < 0 || clone_file_at(source, target, "copy", 0644) != -EFBIG);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(count_entries(in_scratch("fails")), 1);
}

/* Several at once: whoever looks sees a whole file. */
static void test_race(void **state) {
        _cleanup_close_ int source = source_of("source", BIG), target = -EBADF;
        pid_t pids[4];
        int status;

        scratch_mkdir("race");
        target = open_directory(in_scratch("race"));
        assert_int_equal(clone_file_at(source, target, "copy", 0600), 0);

        for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        for (unsigned k = 0; k < 5; k++)
                                if (clone_file_at(source, target, "copy", 0600) < 0)
                                        _exit(1);
                        _exit(0);
                }
        }
        for (unsigned k = 0; k < 20; k++) {
                struct stat st;

                assert_int_equal(fstatat(target, "copy", &st, 0), 0);
                assert_int_equal(st.st_size, BIG);
        }
        for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
        }

        assert_same(source, target, "copy", 0600);
        assert_int_equal(count_entries(in_scratch("race")), 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes),
                cmocka_unit_test(test_other_file_system),
                cmocka_unit_test(test_progress),
                cmocka_unit_test(test_replaces),
                cmocka_unit_test(test_failures),
                cmocka_unit_test(test_race),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
