/* SPDX-License-Identifier: MIT */

/* New inodes for old ones: what somebody holds of the old leads nowhere, the content stays, and who saves meanwhile wins. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "scratch.h"
#include "supervisor/fresh-entry.h"

static int dir_fd = -EBADF;

static ino_t inode_of(const char *name) {
        struct stat st;

        assert_int_equal(lstat(in_scratch(name), &st), 0);
        return st.st_ino;
}

static void assert_text(const char *name, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(io_read_file_at(dir_fd, name, MIB, &text, NULL), 0);
        assert_string_equal(text, expected);
}

static size_t count_entries(void) {
        DIR *d = opendir(scratch);
        size_t n = 0;

        assert_non_null(d);
        while (readdir(d))
                n++;
        (void) closedir(d);
        return n;
}

static void test_file(void **state) {
        _cleanup_close_ int writer = -EBADF, reader = -EBADF, name = -EBADF;
        FreshContent before, after, other;
        char proc[64];
        size_t n;
        ino_t old;
        struct stat st;

        scratch_puts("file", "content\n");
        assert_int_equal(chmod(in_scratch("file"), 0640), 0);
        assert_int_equal(utimensat(dir_fd, "file", (const struct timespec[]) { { .tv_sec = 1000 }, { .tv_sec = 2000, .tv_nsec = 5 } }, 0), 0);
        n = count_entries();
        old = inode_of("file");
        writer = openat(dir_fd, "file", O_WRONLY | O_APPEND | O_CLOEXEC);
        reader = openat(dir_fd, "file", O_RDONLY | O_CLOEXEC);
        name = openat(dir_fd, "file", O_PATH | O_CLOEXEC);
        assert_true(writer >= 0 && reader >= 0 && name >= 0);

        assert_int_equal(fresh_content_at(dir_fd, "file", &before), 0);
        assert_int_equal(fresh_entry_at(dir_fd, "file", &after), 0);
        assert_true(before.known && after.known);
        assert_memory_equal(before.sha256, after.sha256, SHA256_SIZE);
        assert_int_not_equal(inode_of("file"), old);
        assert_int_equal(count_entries(), n);
        assert_int_equal(lstat(in_scratch("file"), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
        assert_int_equal(st.st_mtim.tv_sec, 2000);
        assert_int_equal(st.st_mtim.tv_nsec, 5);

        /* Whatever is still held of the old one. */
        assert_int_equal(io_write_all(writer, "evil", 4), 0);
        (void) snprintf(proc, sizeof(proc), "/proc/self/fd/%d", name);
        fd_close(writer);
        writer = open(proc, O_WRONLY | O_APPEND | O_CLOEXEC);
        if (writer >= 0)
                assert_int_equal(io_write_all(writer, "evil", 4), 0);
        assert_text("file", "content\n");

        scratch_puts("file", "other\n");
        assert_int_equal(fresh_content_at(dir_fd, "file", &other), 0);
        assert_memory_not_equal(before.sha256, other.sha256, SHA256_SIZE);
}

static void test_hard_link(void **state) {
        FreshContent content;

        scratch_puts("linked", "content\n");
        assert_int_equal(linkat(dir_fd, "linked", dir_fd, "other-name", 0), 0);
        assert_int_equal(fresh_entry_at(dir_fd, "linked", &content), 0);
        assert_int_not_equal(inode_of("linked"), inode_of("other-name"));
        scratch_puts("other-name", "evil\n");
        assert_text("linked", "content\n");
}

static void test_directory(void **state) {
        _cleanup_close_ int held = -EBADF;
        FreshContent content;
        char target[16];
        size_t n;

        scratch_mkdir("hooks");
        scratch_mkdir("hooks/sub");
        scratch_puts("hooks/sub/pre-commit", "#!/bin/sh\n");
        assert_int_equal(chmod(in_scratch("hooks/sub/pre-commit"), 0755), 0);
        assert_int_equal(symlinkat("sub/x", dir_fd, "hooks/link"), 0);
        n = count_entries();
        held = openat(dir_fd, "hooks", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(fresh_entry_at(dir_fd, "hooks", &content), 0);
        assert_false(content.known);
        assert_int_equal(count_entries(), n);
        assert_text("hooks/sub/pre-commit", "#!/bin/sh\n");
        assert_int_equal(readlinkat(dir_fd, "hooks/link", target, sizeof(target)), 5);
        assert_int_equal(faccessat(dir_fd, "hooks/sub/pre-commit", X_OK, 0), 0);

        /* Nothing can be made in the old one any more. */
        assert_int_equal(io_write_new_at(held, "pre-push", 0755, "evil", 4), -ENOENT);
}

static void test_refusals(void **state) {
        FreshContent content;
        size_t n;

        assert_int_equal(fresh_entry_at(dir_fd, "nothing", &content), -ENOENT);
        assert_int_equal(fresh_content_at(dir_fd, "nothing", &content), -ENOENT);
        scratch_puts("target", "content\n");
        assert_int_equal(symlinkat("target", dir_fd, "link"), 0);
        assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
        n = count_entries();
        assert_int_equal(fresh_entry_at(dir_fd, "link", &content), -ELOOP);
        assert_int_equal(fresh_entry_at(dir_fd, "fifo", &content), -EPERM);

        scratch_puts("large", "");
        assert_int_equal(truncate(in_scratch("large"), (off_t) FRESH_FILE_MAX + 1), 0);
        n++;
        assert_int_equal(fresh_entry_at(dir_fd, "large", &content), -EFBIG);
        assert_false(content.known);
        assert_int_equal(count_entries(), n);
}

#define ROUNDS 300
#define SAVES 12 /* of a round */

/* Saves as git and editors do, a few times in a row; after each row it says so and waits for an answer. */
static void save_in_rounds(int told, int answered) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (unsigned i = 1; i <= ROUNDS * SAVES; i++) {
                char text[16], c;

                (void) snprintf(text, sizeof(text), "%u", i);
                if (io_write_new_at(dir_fd, "busy.lock", 0600, text, strlen(text)) < 0 || renameat(dir_fd, "busy.lock", dir_fd, "busy") < 0)
                        _exit(1);
                if (i % SAVES == 0 && (write(told, "", 1) != 1 || read(answered, &c, 1) != 1))
                        _exit(1);
        }
        _exit(0);
}

/* Whatever is saved last stays, however often and fast that was. */
static void test_saved_meanwhile(void **state) {
        int told[2], answered[2], status;
        unsigned round = 0;
        size_t n;
        pid_t pid;

        scratch_puts("busy", "0");
        n = count_entries();
        assert_int_equal(pipe2(told, O_CLOEXEC | O_NONBLOCK), 0);
        assert_int_equal(pipe2(answered, O_CLOEXEC), 0);
        assert_int_equal(fcntl(told[1], F_SETFL, 0), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                save_in_rounds(told[1], answered[0]);

        while (round < ROUNDS) {
                FreshContent content;
                char text[16], c;
                int r;

                r = fresh_entry_at(dir_fd, "busy", &content);
                assert_true(r == 0 || r == -EBUSY);
                if (read(told[0], &c, 1) != 1)
                        continue;
                (void) snprintf(text, sizeof(text), "%u", ++round * SAVES);
                assert_text("busy", text);
                assert_int_equal(write(answered[1], "", 1), 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_int_equal(count_entries(), n);
        for (unsigned i = 0; i < 2; i++) {
                (void) close(told[i]);
                (void) close(answered[i]);
        }
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        dir_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return dir_fd < 0 ? -1 : 0;
}

static int teardown(void **state) {
        dir_fd = fd_close(dir_fd);
        return scratch_remove(state);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_file),
                cmocka_unit_test(test_hard_link),
                cmocka_unit_test(test_directory),
                cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_saved_meanwhile),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
