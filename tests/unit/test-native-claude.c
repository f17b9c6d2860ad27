/* SPDX-License-Identifier: MIT */

/* The host's native claude: which installations are one, and the copy that sandboxes run. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "launch/native-claude.h"
#include "scratch.h"
#include "launch-stage.h"

#define VERSIONS "home/.local/share/claude/versions"
#define CLAUDE_SIZE (32 * MIB) /* to copy takes long enough for others to begin, too */
#define COPIES "home/.local/share/claude-profile/claude"

static void write_program(const char *name, const char *text) {
        scratch_puts(name, text);
        assert_int_equal(chmod(in_scratch(name), 0755), 0);
}

static void set_path(const char *first, const char *second) {
        char path[2 * PATH_MAX];

        (void) snprintf(path, sizeof(path), ".::%s:%s", in_scratch(first), in_scratch(second));
        assert_int_equal(setenv("PATH", path, 1), 0);
}

/* 1 with the version, or 0. */
static void assert_version(const char *version) {
        NativeClaude c = { 0 };
        int r;

        r = native_claude_find(&stage.dirs, &stage.settings, &c);
        if (!version) {
                assert_int_equal(r, 0);
                assert_null(c.source);
                return;
        }

        assert_int_equal(r, 1);
        assert_string_equal(c.version, version);
        assert_int_equal(strncmp(c.source, scratch, strlen(scratch)), 0);
        assert_true(str_has_suffix(c.source, version));
        assert_string_equal(c.copy + strlen(c.copy) - strlen(version), version);
        assert_non_null(strstr(c.copy, COPIES "/"));
        native_claude_clear(&c);
        native_claude_clear(&c);
}

static void link_claude(const char *name, const char *target) {
        (void) unlink(in_scratch(name));
        assert_int_equal(symlink(target, in_scratch(name)), 0);
}

static void test_layouts(void **state) {
        static const struct {
                const char *name;
                bool counts;
        } rows[] = {
                { "1.2.3", true }, { "2.0.0-beta.1+build_5", true }, { "0", true }, { "10.0", true },
                { "latest", false }, { "v1.2.3", false }, { "1.2 3", false }, { "1.2\n3", false }, { ".1", false }, { "1,2", false }, { "1:2", false },
                { "1234567890123456789012345678901234567890123456789012345678901234", false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                char name[256], target[256];

                (void) snprintf(name, sizeof(name), VERSIONS "/%s", rows[i].name);
                (void) snprintf(target, sizeof(target), "../share/claude/versions/%s", rows[i].name);
                write_program(name, "\x7f" "ELF");
                link_claude("home/.local/bin/claude", target);
                assert_version(rows[i].counts ? rows[i].name : NULL);
        }

        /* Installed in another way. */
        make_path("lib/node_modules/claude");
        write_program("lib/node_modules/claude/cli.js", "#!/usr/bin/env node\n");
        link_claude("home/.local/bin/claude", in_scratch("lib/node_modules/claude/cli.js"));
        assert_version(NULL);
        link_claude("home/.local/bin/claude", "nowhere");
        assert_version(NULL);
        assert_int_equal(unlink(in_scratch("home/.local/bin/claude")), 0);
        assert_version(NULL);
}

static void test_search(void **state) {
        char text[256];

        write_program(VERSIONS "/1.2.3", "\x7f" "ELF");
        link_claude("home/.local/bin/claude", "../share/claude/versions/1.2.3");

        /* What stands before it in PATH and is no program, or calls us. */
        scratch_mkdir("first");
        set_path("first", "home/.local/bin");
        assert_version("1.2.3");
        scratch_mkdir("first/claude");
        assert_version("1.2.3");
        assert_int_equal(rmdir(in_scratch("first/claude")), 0);
        scratch_puts("first/claude", "not executable");
        assert_version("1.2.3");
        write_program("first/claude", "#!/bin/sh\nexec claude-profile work \"$@\"\n");
        assert_version("1.2.3");

        /* Somebody's own wrapper is what a host launch runs; it says nothing of a native one. */
        write_program("first/claude", "#!/bin/sh\nexec something \"$@\"\n");
        assert_version(NULL);
        assert_int_equal(unlink(in_scratch("first/claude")), 0);

        /* The setting: a path, or another name. */
        (void) snprintf(stage.claude, sizeof(stage.claude), "%s", in_scratch(VERSIONS "/1.2.3"));
        assert_version("1.2.3");
        (void) snprintf(stage.claude, sizeof(stage.claude), "%s", in_scratch("nothing"));
        assert_version(NULL);
        (void) strcpy(stage.claude, "claude-beta");
        assert_version(NULL);
        link_claude("first/claude-beta", in_scratch(VERSIONS "/1.2.3"));
        assert_version("1.2.3");
        (void) strcpy(stage.claude, "claude");

        /* The current directory is not searched, whatever PATH says of it. */
        (void) snprintf(text, sizeof(text), "%s", in_scratch(VERSIONS));
        assert_int_equal(chdir(text), 0);
        write_program(VERSIONS "/claude", "\x7f" "ELF");
        assert_version("1.2.3");
        assert_int_equal(unlink(in_scratch(VERSIONS "/claude")), 0);
        assert_int_equal(chdir("/"), 0);
}

static unsigned count_entries(const char *name) {
        unsigned n = 0;
        DIR *d;

        d = opendir(in_scratch(name));
        assert_non_null(d);
        while (readdir(d))
                n++;
        (void) closedir(d);
        return n - 2;
}

static NativeClaude find(void) {
        NativeClaude c = { 0 };

        assert_int_equal(native_claude_find(&stage.dirs, &stage.settings, &c), 1);
        return c;
}

static void test_copy(void **state) {
        _cleanup_close_ int first = -EBADF, second = -EBADF, third = -EBADF;
        struct stat a, b;
        NativeClaude c = find();

        first = native_claude_copy(&c, &stage.dirs);
        assert_true(first >= 0);
        assert_int_equal(fstat(first, &a), 0);
        assert_int_equal(a.st_mode & 07777, 0755);
        assert_int_equal(a.st_size, 4);
        assert_int_equal(fcntl(first, F_GETFD), FD_CLOEXEC);

        /* Once; in use by both. */
        second = native_claude_copy(&c, &stage.dirs);
        assert_true(second >= 0);
        assert_int_equal(fstat(second, &b), 0);
        assert_int_equal(a.st_ino, b.st_ino);
        assert_int_equal(flock(second, LOCK_EX | LOCK_NB), -1);
        first = fd_close(first);
        second = fd_close(second);

        /* One that a failing disk cut short, or a link, is replaced. */
        assert_int_equal(truncate(in_scratch(COPIES "/1.2.3"), 2), 0);
        first = native_claude_copy(&c, &stage.dirs);
        assert_true(first >= 0);
        assert_int_equal(fstat(first, &b), 0);
        assert_int_equal(b.st_size, 4);
        assert_int_equal(unlink(in_scratch(COPIES "/1.2.3")), 0);
        scratch_puts("victim", "1234");
        assert_int_equal(symlink(in_scratch("victim"), in_scratch(COPIES "/1.2.3")), 0);
        second = native_claude_copy(&c, &stage.dirs);
        assert_true(second >= 0);
        assert_int_equal(lstat(in_scratch(COPIES "/1.2.3"), &b), 0);
        assert_true(S_ISREG(b.st_mode));
        assert_int_equal(count_entries(COPIES), 1);

        /* The source went away, say by an update. */
        assert_int_equal(unlink(in_scratch(VERSIONS "/1.2.3")), 0);
        third = native_claude_copy(&c, &stage.dirs);
        assert_int_equal(third, -ENOENT);
        native_claude_clear(&c);
}

/* One of several launches, in a process of its own: says that it has the copy, and looks when all have. */
static void launch_beside(const NativeClaude *c, int has, int all_have) {
        struct stat held, named;
        bool good;
        int fd;

        fd = native_claude_copy(c, &stage.dirs);
        good = fd >= 0 && write(has, "", 1) == 1 && read(all_have, &(char) { 0 }, 1) == 1 && fstat(fd, &held) >= 0 &&
                stat(c->copy, &named) >= 0 && held.st_size == CLAUDE_SIZE && held.st_ino == named.st_ino;
        _exit(!good);
}

/* First launches that come at once: all get the same copy, which stays theirs, and nothing else is left. */
static void test_concurrent(void **state) {
        char *data = malloc(CLAUDE_SIZE);
        int has[2], all_have[2], status;
        pid_t pids[8];
        NativeClaude c;
        char byte;

        assert_non_null(data);
        memset(data, 'x', CLAUDE_SIZE);
        scratch_write(VERSIONS "/1.2.3", data, CLAUDE_SIZE);
        free(data);
        assert_int_equal(chmod(in_scratch(VERSIONS "/1.2.3"), 0755), 0);
        c = find();

        assert_int_equal(pipe2(has, O_CLOEXEC), 0);
        assert_int_equal(pipe2(all_have, O_CLOEXEC), 0);
        for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                pids[i] = fork();
                if (pids[i] == 0) {
                        (void) close(all_have[1]);
                        launch_beside(&c, has[1], all_have[0]);
                }
        }
        (void) close(has[1]);
        for (size_t i = 0; i < ELEMENTSOF(pids); i++)
                assert_int_equal(read(has[0], &byte, 1), 1);
        assert_int_equal(write(all_have[1], "12345678", ELEMENTSOF(pids)), ELEMENTSOF(pids));
        for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
        }

        (void) close(has[0]);
        (void) close(all_have[0]);
        (void) close(all_have[1]);
        assert_int_equal(count_entries(COPIES), 1);
        native_claude_clear(&c);
}

/* A copy of a version, which is not the one that is looked for. */
static int put_copy(const char *version) {
        char path[256];
        int fd;

        (void) snprintf(path, sizeof(path), COPIES "/%s", version);
        scratch_puts(path, "old");
        fd = open(in_scratch(path), O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

static bool copy_exists(const char *version) {
        char path[256];

        (void) snprintf(path, sizeof(path), COPIES "/%s", version);
        return access(in_scratch(path), F_OK) >= 0;
}

static void test_prune(void **state) {
        _cleanup_close_ int old = -EBADF, used = -EBADF, newer = -EBADF, left = -EBADF, begun = -EBADF, odd = -EBADF, fd = -EBADF,
                again = -EBADF, dir_fd = -EBADF;
        NativeClaude c;

        write_program(VERSIONS "/2.0.10", "\x7f" "ELF");
        link_claude("home/.local/bin/claude", "../share/claude/versions/2.0.10");
        c = find();
        fd = native_claude_copy(&c, &stage.dirs);
        assert_true(fd >= 0);
        old = put_copy("2.0.9");
        used = put_copy("1.9.0");
        newer = put_copy("2.0.11");
        left = put_copy(".2.0.10.0123456789abcdef");
        begun = put_copy(".2.0.11.0123456789abcdef");
        odd = put_copy("notes");
        assert_int_equal(flock(used, LOCK_SH), 0); /* by a launch that runs */
        assert_int_equal(flock(begun, LOCK_EX), 0); /* by one that copies */

        /* While another launch is about to use a copy nothing is removed. */
        dir_fd = open(in_scratch(COPIES), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(flock(dir_fd, LOCK_SH), 0);
        again = native_claude_copy(&c, &stage.dirs);
        assert_true(again >= 0);
        assert_true(copy_exists("2.0.9") && copy_exists(".2.0.10.0123456789abcdef"));
        dir_fd = fd_close(dir_fd);

        again = fd_close(again);
        again = native_claude_copy(&c, &stage.dirs);
        assert_true(again >= 0);
        assert_false(copy_exists("2.0.9") || copy_exists(".2.0.10.0123456789abcdef"));
        assert_true(copy_exists(".2.0.11.0123456789abcdef"));
        assert_true(copy_exists("1.9.0") && copy_exists("2.0.10") && copy_exists("2.0.11") && copy_exists("notes"));

        used = fd_close(used);
        again = fd_close(again);
        again = native_claude_copy(&c, &stage.dirs);
        assert_true(again >= 0);
        assert_false(copy_exists("1.9.0"));
        native_claude_clear(&c);
}

/* Launches of two versions at once, again and again: whoever has a version has it whole and under its name. */
static void test_update_meanwhile(void **state) {
        pid_t pids[6];
        int status;

        write_program(VERSIONS "/3.0.1", "\x7f" "ELF");
        write_program(VERSIONS "/3.0.2", "\x7f" "ELF");
        for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                NativeClaude c;

                (void) snprintf(stage.claude, sizeof(stage.claude), "%s", in_scratch(i % 2 ? VERSIONS "/3.0.1" : VERSIONS "/3.0.2"));
                c = find();
                pids[i] = fork();
                if (pids[i] == 0) {
                        bool good = true;

                        for (unsigned k = 0; k < 100 && good; k++) {
                                _cleanup_close_ int fd = native_claude_copy(&c, &stage.dirs);
                                struct stat held, named;

                                good = fd >= 0 && fstat(fd, &held) >= 0 && stat(c.copy, &named) >= 0 && held.st_ino == named.st_ino;
                        }
                        native_claude_clear(&c);
                        _exit(!good);
                }
                native_claude_clear(&c);
        }
        for (size_t i = 0; i < ELEMENTSOF(pids); i++) {
                assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
                assert_int_equal(status, 0);
        }
        (void) strcpy(stage.claude, "claude");
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        stage_make();
        make_path(VERSIONS);
        make_path("home/.local/bin");
        make_path("empty");
        set_path("empty", "home/.local/bin");
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_layouts),
                cmocka_unit_test(test_search),
                cmocka_unit_test(test_copy),
                cmocka_unit_test(test_concurrent),
                cmocka_unit_test(test_prune),
                cmocka_unit_test(test_update_meanwhile),
        };

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
