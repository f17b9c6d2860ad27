/* SPDX-License-Identifier: MIT */

/* The comparison of a container's mounts with the plan, with a process that stands in for the container: its mounts are made as a
 * runtime would, or otherwise. Skipped (77) where no mount can be made. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/mount-check.h"
#include "scratch.h"
#include "launch-stage.h"

typedef void (*MakeMounts)(void);

static void check(bool ok) {
        if (!ok)
                _exit(99);
}

static void bind_mount(const char *source, const char *target, bool read_only) {
        char from[PATH_MAX + 256], to[PATH_MAX + 256];

        (void) snprintf(from, sizeof(from), "%s", in_scratch(source));
        (void) snprintf(to, sizeof(to), "%s", in_scratch(target));
        check(mount(from, to, "none", MS_BIND | MS_REC, NULL) >= 0);
        if (read_only)
                check(mount("none", to, "none", MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) >= 0);
}

static void mount_tmpfs(const char *target) {
        check(mount("tmpfs", in_scratch(target), "tmpfs", 0, NULL) >= 0);
}

/* A process with mounts of its own, under the guest program's name. */
static pid_t container_start(MakeMounts f) {
        int fds[2];
        pid_t pid;
        char c;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                check(unshare(CLONE_NEWNS) >= 0 && mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) >= 0);
                f();
                check(prctl(PR_SET_NAME, path_last(GUEST_PROGRAM)) >= 0 && write(fds[1], "m", 1) == 1);
                for (;;)
                        (void) pause();
        }

        fd_close(fds[1]);
        assert_int_equal(read(fds[0], &c, 1), 1);
        fd_close(fds[0]);
        return pid;
}

static void container_stop(pid_t pid) {
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static Plan *new_plan(void) {
        Plan *p;

        stage_fill();
        (void) snprintf(stage.runtime, sizeof(stage.runtime), "%s", scratch);
        stage.settings.isolation = ISOLATION_CONTAINER;
        p = stage_plan();
        return p;
}

static void add(Plan *p, const char *source, const char *target, MountFlags flags) {
        assert_int_equal(plan_add_mount(p, source ? MOUNT_BIND : MOUNT_TMPFS, source ? in_scratch(source) : NULL, in_scratch(target),
                        flags, "mount"), 0);
}

static void assert_as_planned(const Plan *p, MakeMounts f) {
        _cleanup_free_ char *why = NULL;
        pid_t pid = container_start(f);
        int r;

        r = mounts_check(p, pid, &why);
        container_stop(pid);
        if (r != 0)
                fail_msg("%d: %s", r, why ?: "");
        assert_null(why);
}

static void assert_fault(const Plan *p, MakeMounts f, const char *fault) {
        _cleanup_free_ char *why = NULL;
        pid_t pid = container_start(f);
        int r;

        r = mounts_check(p, pid, &why);
        container_stop(pid);
        assert_int_equal(r, -EPERM);
        assert_non_null(why);
        if (!strstr(why, fault))
                fail_msg("\"%s\" is not in: %s", fault, why);
        for (const char *s = why; *s; s++)
                assert_true((unsigned char) *s >= 0x20);
}

/* The plan that most tests have: a directory to write, one to read, a file, a tmpfs. */
static Plan *usual_plan(void) {
        Plan *p = new_plan();

        add(p, NULL, "guest/run", 0);
        add(p, "src/dir", "guest/dir", MOUNT_RELABEL);
        add(p, "src/sub", "guest/dir/sub", MOUNT_READ_ONLY);
        add(p, "src/file", "guest/file", MOUNT_READ_ONLY | MOUNT_RELABEL);
        return p;
}

static void mount_usual(void) {
        mount_tmpfs("guest/run");
        bind_mount("src/dir", "guest/dir", false);
        bind_mount("src/sub", "guest/dir/sub", true);
        bind_mount("src/file", "guest/file", true);
}

static void mount_usual_and_more(void) {
        mount_usual();
        mount_tmpfs("guest/other");
        bind_mount("src/other", "guest/run", false); /* covers the tmpfs */
        check(umount2(in_scratch("guest/run"), 0) >= 0);
}

static void mount_in_another_order(void) {
        bind_mount("src/file", "guest/file", true);
        bind_mount("src/dir", "guest/dir", false);
        bind_mount("src/sub", "guest/dir/sub", true);
        mount_tmpfs("guest/run");
}

static void test_as_planned(void **state) {
        _cleanup_plan_ Plan *p = usual_plan(), *nothing = new_plan();

        assert_as_planned(p, mount_usual);
        assert_as_planned(p, mount_usual_and_more);
        assert_as_planned(p, mount_in_another_order);
        assert_as_planned(nothing, mount_usual);
}

static void mount_without_sub(void) {
        mount_tmpfs("guest/run");
        bind_mount("src/dir", "guest/dir", false);
        bind_mount("src/file", "guest/file", true);
}

static void mount_sub_writable(void) {
        mount_usual();
        check(mount("none", in_scratch("guest/dir/sub"), "none", MS_BIND | MS_REMOUNT, NULL) >= 0);
}

static void mount_dir_read_only(void) {
        mount_usual();
        check(mount("none", in_scratch("guest/dir"), "none", MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) >= 0);
}

static void mount_other_source(void) {
        mount_without_sub();
        bind_mount("src/other", "guest/dir/sub", true);
}

/* Only a part, or more than was asked for. */
static void mount_below_source(void) {
        mount_without_sub();
        bind_mount("src/sub/below", "guest/dir/sub", true);
}

static void mount_above_source(void) {
        mount_without_sub();
        bind_mount("src", "guest/dir/sub", true);
}

static void mount_other_file_system(void) {
        mount_without_sub();
        mount_tmpfs("guest/other");
        check(mkdir(in_scratch("guest/other/sub"), 0700) >= 0);
        bind_mount("guest/other/sub", "guest/dir/sub", true);
}

static void cover_sub(void) {
        mount_usual();
        bind_mount("src/other", "guest/dir/sub", true);
}

/* The mounts are there, but something covers a directory above them. */
static void cover_parent(void) {
        mount_usual();
        bind_mount("src/decoy", "guest", false);
}

static void cover_parent_with_links(void) {
        mount_usual();
        bind_mount("src/dir", "guest/dir", false);
}

static void test_other_than_planned(void **state) {
        _cleanup_plan_ Plan *p = usual_plan();

        assert_fault(p, mount_without_sub, "nothing is mounted there");
        assert_fault(p, mount_sub_writable, "it can be written");
        assert_fault(p, mount_dir_read_only, "it is read-only");
        assert_fault(p, mount_other_source, "something else is mounted there");
        assert_fault(p, mount_below_source, "something else is mounted there");
        assert_fault(p, mount_above_source, "something else is mounted there");
        assert_fault(p, mount_other_file_system, "something else is mounted there");
        assert_fault(p, cover_sub, "something else is mounted there");
        assert_fault(p, cover_parent, "nothing is mounted there");
        assert_fault(p, cover_parent_with_links, "nothing is mounted there");
}

static void mount_elsewhere(void) {
        bind_mount("src/sub", "guest/other", true);
}

static void mount_elsewhere_writable(void) {
        bind_mount("src/sub", "guest/other", false);
}

/* An image may have a link at the target, and the mount is where that leads. That goes for no other mount. */
static void test_linked(void **state) {
        _cleanup_plan_ Plan *linked = new_plan(), *plain = new_plan();

        add(linked, "src/sub", "guest/dir/sub", MOUNT_READ_ONLY | MOUNT_LINKED);
        add(plain, "src/sub", "guest/dir/sub", MOUNT_READ_ONLY);
        assert_as_planned(linked, mount_elsewhere);
        assert_fault(linked, mount_elsewhere_writable, "nothing is mounted there");
        assert_fault(plain, mount_elsewhere, "nothing is mounted there");
        assert_fault(linked, mount_other_source, "something else is mounted there");
}

static void mount_no_tmpfs(void) {
        bind_mount("src/dir", "guest/dir", false);
        bind_mount("src/sub", "guest/dir/sub", true);
        bind_mount("src/file", "guest/file", true);
}

static void mount_bind_for_tmpfs(void) {
        mount_no_tmpfs();
        bind_mount("src/other", "guest/run", false);
}

static void mount_part_of_tmpfs(void) {
        mount_no_tmpfs();
        mount_tmpfs("guest/other");
        check(mkdir(in_scratch("guest/other/sub"), 0700) >= 0);
        bind_mount("guest/other/sub", "guest/run", false);
}

static void test_tmpfs(void **state) {
        _cleanup_plan_ Plan *p = usual_plan();

        assert_fault(p, mount_no_tmpfs, "nothing is mounted there");
        assert_fault(p, mount_bind_for_tmpfs, "no tmpfs of its own");
        assert_fault(p, mount_part_of_tmpfs, "no tmpfs of its own");
}

static void mount_odd(void) {
        bind_mount("src/odd \t\n\\,\"x", "guest/odd \t\n\\,\"x", false);
}

static void test_odd_paths(void **state) {
        _cleanup_plan_ Plan *p = new_plan(), *wrong = new_plan();

        add(p, "src/odd \t\n\\,\"x", "guest/odd \t\n\\,\"x", 0);
        assert_as_planned(p, mount_odd);
        add(wrong, "src/odd \t\n\\,\"x", "guest/odd \t\n\\,\"x", MOUNT_READ_ONLY);
        assert_fault(wrong, mount_odd, "guest/odd \\x09\\x0a\\,\"x (mount)");
}

static void mount_swap(void) {
        bind_mount("src/swap", "guest/dir", false);
}

/* A source that changed its meaning after, or before, the mount was made. */
static void test_swapped_source(void **state) {
        _cleanup_plan_ Plan *p = new_plan();
        _cleanup_free_ char *why = NULL;
        pid_t pid;

        make_path("src/swap");
        add(p, "src/swap", "guest/dir", 0);
        assert_as_planned(p, mount_swap);

        /* Another directory lies there now. */
        pid = container_start(mount_swap);
        assert_int_equal(rename(in_scratch("src/swap"), in_scratch("src/swapped")), 0);
        scratch_mkdir("src/swap");
        assert_int_equal(mounts_check(p, pid, &why), -EPERM);
        container_stop(pid);
        free(TAKE_PTR(why));

        /* A link that podman follows. */
        assert_int_equal(rmdir(in_scratch("src/swap")), 0);
        assert_int_equal(symlink("other", in_scratch("src/swap")), 0);
        assert_fault(p, mount_swap, "something else is mounted there");
        assert_int_equal(unlink(in_scratch("src/swap")), 0);

        /* Removed meanwhile: the kernel's name for it ends in "//deleted". */
        scratch_mkdir("src/swap");
        pid = container_start(mount_swap);
        assert_int_equal(rmdir(in_scratch("src/swap")), 0);
        assert_int_equal(mounts_check(p, pid, &why), -ENOENT);
        scratch_mkdir("src/swap");
        assert_int_equal(mounts_check(p, pid, &why), -EPERM);
        container_stop(pid);
        assert_int_equal(rmdir(in_scratch("src/swap")), 0);
        assert_int_equal(rmdir(in_scratch("src/swapped")), 0);
}

static void mount_file_system(void) {
        bind_mount("src/fs/deep/er", "guest/dir", false);
        bind_mount("src/fs", "guest/other", true);
}

/* Sources on file systems of their own, and a mount's very top. */
static void test_other_mounts(void **state) {
        _cleanup_plan_ Plan *p = new_plan();

        assert_int_equal(mount("tmpfs", in_scratch("src/fs"), "tmpfs", 0, NULL), 0);
        make_path("src/fs/deep/er");
        add(p, "src/fs/deep/er", "guest/dir", 0);
        add(p, "src/fs", "guest/other", MOUNT_READ_ONLY);
        assert_as_planned(p, mount_file_system);
        assert_int_equal(umount2(in_scratch("src/fs"), 0), 0);
}

static void mount_nothing(void) {
}

/* Whoever is not done with the mounts yet is asked again. */
static void test_not_done(void **state) {
        _cleanup_plan_ Plan *p = usual_plan();
        _cleanup_free_ char *why = NULL;
        pid_t pid;
        int fds[2];
        char c;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                check(prctl(PR_SET_NAME, "crun") >= 0 && write(fds[1], "m", 1) == 1);
                for (;;)
                        (void) pause();
        }
        assert_int_equal(read(fds[0], &c, 1), 1);
        assert_int_equal(mounts_check(p, pid, &why), -EAGAIN);
        /* A virtual machine's monitor keeps its name. */
        stage.settings.isolation = ISOLATION_KRUN;
        assert_int_equal(mounts_check(p, pid, &why), -EAGAIN);
        stage.settings.isolation = ISOLATION_CONTAINER;
        container_stop(pid);
        fd_close(fds[0]);
        fd_close(fds[1]);
        free(TAKE_PTR(why));

        /* And one that is gone. */
        assert_true(mounts_check(p, pid, &why) < 0);
        pid = container_start(mount_nothing);
        assert_int_equal(mounts_check(p, pid, &why), -EPERM);
        container_stop(pid);
}

static int setup(void **state) {
        static const char *const dirs[] = {
                "src/dir/sub", "src/sub/below", "src/other", "src/fs", "src/decoy/dir/sub", "src/decoy/run", "src/odd \t\n\\,\"x",
                "guest/run", "guest/dir", "guest/other", "guest/odd \t\n\\,\"x",
        };

        if (scratch_make(state) < 0)
                return -1;
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                make_path(dirs[i]);
        scratch_puts("src/file", "x");
        scratch_puts("guest/file", "");
        /* What this process mounts is seen by the stand-ins alone, which start with a copy. */
        return unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ? -1 : 0;
}

static bool mounts_can_be_made(void) {
        int status;
        pid_t pid;

        pid = fork();
        if (pid == 0)
                _exit(unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
                                mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0);
        return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_as_planned),
                cmocka_unit_test(test_other_than_planned),
                cmocka_unit_test(test_linked),
                cmocka_unit_test(test_tmpfs),
                cmocka_unit_test(test_odd_paths),
                cmocka_unit_test(test_swapped_source),
                cmocka_unit_test(test_other_mounts),
                cmocka_unit_test(test_not_done),
        };

        if (!mounts_can_be_made()) {
                (void) fprintf(stderr, "no mount can be made here\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
