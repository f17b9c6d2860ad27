/* SPDX-License-Identifier: MIT */

/* Guards in a container's name spaces. The container is a stand-in: a child in a user and a mount name space of its own, with the host's
 * file tree, which tries to write when it is told to. Skipped (77) where such a child cannot be made. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "scratch.h"
#include "supervisor/guard-mount.h"

enum { GIT, CONFIG, HOOKS, ENV, N };

static GuardList guards;
static GuardState states[N];
static pid_t guest;
static int guest_fd = -EBADF, to_guest = -EBADF, from_guest = -EBADF;

/* As the container's setup: its ids, and mounts of its own. */
static int enter(uid_t uid, gid_t gid) {
        char map[64];
        int n;

        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
                return -errno;
        for (unsigned i = 0; i < 3; i++) {
                static const char *const files[] = { "/proc/self/setgroups", "/proc/self/uid_map", "/proc/self/gid_map" };
                int fd = open(files[i], O_WRONLY | O_CLOEXEC);

                n = i == 0 ? snprintf(map, sizeof(map), "deny") :
                        snprintf(map, sizeof(map), "0 %u 1", i == 1 ? (unsigned) uid : (unsigned) gid);
                if (fd < 0 || write(fd, map, (size_t) n) != n)
                        return -errno;
                (void) close(fd);
        }
        return mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
}

/* Paths come in, one a line; the answer is the errno of writing there. "~path" takes hold of a directory, "@name" writes in it. */
static _noreturn_ void run_guest(FILE *in, int out) {
        int held = -EBADF, dir;
        char line[PATH_MAX];

        while (fgets(line, sizeof(line), in)) {
                unsigned char answer = 0;
                int fd;

                line[strcspn(line, "\n")] = '\0';
                if (line[0] == '~') {
                        held = open(line + 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                        answer = held < 0 ? (unsigned char) errno : 0;
                } else if (line[0] == '!') {
                        answer = mount(scratch, line + 1, "none", MS_BIND, NULL) < 0 ? (unsigned char) errno : 0;
                } else {
                        dir = line[0] == '@' ? held : AT_FDCWD;
                        fd = openat(dir, line + (line[0] == '@'), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
                        if (fd < 0 || write(fd, "evil", 4) != 4)
                                answer = (unsigned char) errno;
                        fd_close(fd);
                }
                if (write(out, &answer, 1) != 1)
                        break;
        }
        _exit(0);
}

/* 0, or the errno of what the guest tried. */
static int ask(const char *mark, const char *name) {
        char line[PATH_MAX + 300];
        unsigned char answer;
        int n;

        n = snprintf(line, sizeof(line), "%s%s\n", mark, streq(mark, "@") ? name : in_scratch(name));
        assert_int_equal(write(to_guest, line, (size_t) n), n);
        assert_int_equal(read(from_guest, &answer, 1), 1);
        return answer;
}

static int settle(bool bind) {
        size_t fault;

        return guards_settle(guest_fd, &guards, bind, states, &fault);
}

static void assert_states(GuardState git, GuardState config, GuardState hooks, GuardState env) {
        const GuardState expected[N] = { git, config, hooks, env };

        assert_int_equal(settle(false), 0);
        for (size_t i = 0; i < N; i++)
                if (states[i] != expected[i])
                        fail_msg("guard %zu: state %d, not %d", i, (int) states[i], (int) expected[i]);
}

static void put_back(void) {
        assert_int_equal(settle(false), 0);
        assert_int_equal(settle(true), 0);
        assert_states(GUARD_IN_PLACE, GUARD_IN_PLACE, GUARD_IN_PLACE, GUARD_IN_PLACE);
}

static void add(const char *name, const char *source, bool read_only, bool pin) {
        char path[PATH_MAX], from[PATH_MAX];

        (void) snprintf(path, sizeof(path), "%.4000s", in_scratch(name));
        (void) snprintf(from, sizeof(from), "%.4000s", in_scratch(source));
        assert_int_equal(guard_list_add(&guards, &(Guard) { .path = path, .source = from, .target = path, .read_only = read_only,
                        .pin = pin }), 0);
}

static void replace(const char *name, const char *text) {
        scratch_puts("new", text);
        assert_int_equal(rename(in_scratch("new"), in_scratch(name)), 0);
}

static void assert_text(const char *name, const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(io_read_file_at(AT_FDCWD, in_scratch(name), MIB, &text, NULL), 0);
        assert_string_equal(text, expected);
}

static void test_bind(void **state) {
        assert_states(GUARD_MISSING, GUARD_MISSING, GUARD_MISSING, GUARD_MISSING);
        put_back();
        assert_int_equal(ask("", "work/.git/config"), EROFS);
        assert_int_equal(ask("", "work/.env"), EROFS);
        assert_int_equal(ask("", "work/.git/other"), 0);
        assert_int_equal(ask("", "work/.git/hooks/pre-commit"), 0);
        assert_text("work/.git/hooks/pre-commit", "hook");
        assert_text("copy/pre-commit", "hookevil");
}

static void test_lifted(void **state) {
        replace("work/.git/config", "second");
        assert_states(GUARD_IN_PLACE, GUARD_MISSING, GUARD_IN_PLACE, GUARD_IN_PLACE);
        put_back();
        assert_int_equal(ask("", "work/.git/config"), EROFS);

        assert_int_equal(rename(in_scratch("work/.env"), in_scratch("work/.env~")), 0);
        assert_states(GUARD_IN_PLACE, GUARD_IN_PLACE, GUARD_IN_PLACE, GUARD_GONE);
        scratch_puts("work/.env", "third");
        assert_states(GUARD_IN_PLACE, GUARD_IN_PLACE, GUARD_IN_PLACE, GUARD_MISSING);
        put_back();
        assert_int_equal(ask("", "work/.env"), EROFS);
        assert_text("work/.env", "third");
}

/* With all that lies in it; the guest takes hold of the directory before it is pinned again, and finds the guards that way, too. */
static void test_directory_replaced(void **state) {
        assert_int_equal(rename(in_scratch("work/.git"), in_scratch("work/old")), 0);
        assert_states(GUARD_GONE, GUARD_GONE, GUARD_GONE, GUARD_IN_PLACE);
        scratch_mkdir("work/.git");
        scratch_mkdir("work/.git/hooks");
        scratch_puts("work/.git/hooks/pre-commit", "hook");
        scratch_puts("work/.git/config", "fourth");
        assert_int_equal(ask("~", "work/.git"), 0);
        assert_states(GUARD_MISSING, GUARD_MISSING, GUARD_MISSING, GUARD_IN_PLACE);
        put_back();
        assert_int_equal(ask("", "work/.git/config"), EROFS);
        assert_int_equal(ask("@", "config"), EROFS);
        assert_int_equal(ask("@", "hooks/pre-commit"), 0);
        assert_text("work/.git/hooks/pre-commit", "hook");
}

static void test_refused(void **state) {
        size_t fault;

        /* A link in the place of the entry, or on the way. */
        assert_int_equal(rename(in_scratch("work/.env"), in_scratch("work/.env~")), 0);
        assert_int_equal(symlink(".env~", in_scratch("work/.env")), 0);
        assert_int_equal(guards_settle(guest_fd, &guards, false, states, &fault), -ELOOP);
        assert_int_equal(fault, ENV);
        assert_int_equal(unlink(in_scratch("work/.env")), 0);
        assert_int_equal(rename(in_scratch("work/.env~"), in_scratch("work/.env")), 0);

        /* What the guest sees there is not what the host has there. */
        assert_int_equal(ask("!", "work"), 0);
        assert_int_equal(settle(false), -ESTALE);
        assert_int_equal(settle(true), -ESTALE);
}

static void test_nobody(void **state) {
        size_t fault;

        assert_int_equal(guards_settle(-EBADF, &guards, false, states, &fault), -EBADF);
        assert_int_equal(kill(guest, SIGKILL), 0);
        assert_int_equal(waitpid(guest, NULL, 0), guest);
        assert_int_equal(guards_settle(guest_fd, &guards, false, states, &fault), -ESRCH);
}

static int start_guest(void) {
        const uid_t uid = geteuid();
        const gid_t gid = getegid();
        int in[2], out[2];
        char c;

        if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
                return -errno;
        guest = fork();
        if (guest < 0)
                return -errno;
        if (guest == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (enter(uid, gid) < 0 || write(out[1], "e", 1) != 1)
                        _exit(77);
                fd_close(in[1]);
                run_guest(fdopen(in[0], "r"), out[1]);
        }

        fd_close(in[0]);
        fd_close(out[1]);
        to_guest = in[1];
        from_guest = out[0];
        if (read(from_guest, &c, 1) != 1)
                return -EPERM;
        guest_fd = (int) syscall(SYS_pidfd_open, guest, 0);
        return guest_fd < 0 ? -errno : 0;
}

static int setup(void **state) {
        scratch_mkdir("work");
        scratch_mkdir("work/.git");
        scratch_mkdir("work/.git/hooks");
        scratch_mkdir("copy");
        scratch_puts("work/.git/config", "first");
        scratch_puts("work/.git/hooks/pre-commit", "hook");
        scratch_puts("copy/pre-commit", "hook");
        scratch_puts("work/.env", "");
        add("work/.git", "work/.git", false, true);
        add("work/.git/config", "work/.git/config", true, false);
        add("work/.git/hooks", "copy", false, false);
        add("work/.env", "work/.env", true, false);
        return 0;
}

static int teardown(void **state) {
        guard_list_clear(&guards);
        guest_fd = fd_close(guest_fd);
        to_guest = fd_close(to_guest);
        from_guest = fd_close(from_guest);
        return scratch_remove(state);
}

/* An older kernel, or a valgrind that does not know it. */
static bool is_unknown(long number) {
        return syscall(number, -EBADF, "", 0, NULL, 0) < 0 && errno == ENOSYS;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bind),
                cmocka_unit_test(test_lifted),
                cmocka_unit_test(test_directory_replaced),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_nobody),
        };

        if (is_unknown(SYS_open_tree) || is_unknown(SYS_move_mount) || is_unknown(SYS_mount_setattr)) {
                (void) fputs("mounts cannot be handled by descriptor here\n", stderr);
                return 77;
        }
        if (scratch_make(NULL) < 0)
                return 1;
        if (start_guest() < 0) {
                (void) fputs("no user name space can be made here\n", stderr);
                (void) scratch_remove(NULL);
                return 77;
        }

        return cmocka_run_group_tests(tests, setup, teardown);
}
