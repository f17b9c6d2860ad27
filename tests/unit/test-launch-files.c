/* SPDX-License-Identifier: MIT */

/* What a launch writes: its directory, the bridge's two files, what is kept between launches. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "launch/launch-files.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"
#include "shared/manifest.h"

#define SCOPE "/user.slice/x/claude-sandbox-work-0123abcd.scope"

static char *env[] = { (char *) "PATH=/usr/bin", NULL };
static const PodmanAccess podman = { .program = (char *) "podman", .environment = env };

/* A plan with its launch directory made, whose descriptor is `*ret_fd`. */
static Plan *plan(int *ret_fd) {
        Plan *p = stage_plan();

        make_path("run/claude-profile");
        assert_int_equal(strdup_to(&p->directory, "/home/dev/src"), 0);
        assert_int_equal(mkdir(p->launch_path, 0700), 0);
        *ret_fd = open(p->launch_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(*ret_fd >= 0);
        return p;
}

static void assert_file(int dir_fd, const char *name, const char *data, size_t n) {
        _cleanup_free_ char *is = NULL;
        struct stat st;
        size_t size;

        assert_int_equal(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(io_read_file_at(dir_fd, name, MIB, &is, &size), 0);
        assert_int_equal(size, n);
        assert_memory_equal(is, data, n);
}

static void test_files(void **state) {
        _cleanup_plan_ Plan *p = NULL;
        _cleanup_close_ int fd = -EBADF;
        PodmanAccess back = { 0 };
        struct stat st;
        mode_t old;

        old = umask(0);
        p = plan(&fd);
        assert_int_equal(plan_add_file(p, "guest/environment", memdup_nul("A=b\0", 4), 4), 0);
        assert_int_equal(plan_add_file(p, "guest/command", memdup_nul("", 0), 0), 0);
        assert_int_equal(plan_add_file(p, "known_hosts", strdup("x"), 1), 0);
        assert_int_equal(launch_files_write(p, fd, &podman), 0);
        (void) umask(old);

        assert_file(fd, "guest/environment", "A=b\0", 4);
        assert_file(fd, "guest/command", "", 0);
        assert_file(fd, "known_hosts", "x", 1);
        assert_file(fd, "directory", "/home/dev/src", 13);
        assert_int_equal(fstatat(fd, "guest", &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        assert_int_equal(podman_access_read(fd, &back), 0);
        podman_access_clear(&back);
}

static void test_files_that_cannot_be_written(void **state) {
        _cleanup_plan_ Plan *p = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        p = plan(&fd);
        assert_int_equal(symlinkat(in_scratch("elsewhere"), fd, "known_hosts"), 0);
        assert_int_equal(plan_add_file(p, "known_hosts", strdup("x"), 1), 0);
        messages_begin();
        r = launch_files_write(p, fd, &podman);
        assert_one_message(messages_end(), "/known_hosts");
        assert_int_equal(r, -EEXIST);
        assert_int_equal(access(in_scratch("elsewhere"), F_OK), -1);

        messages_begin();
        r = launch_files_write(p, fd, &podman);
        assert_one_message(messages_end(), p->launch_path);
        assert_int_equal(r, -EEXIST);
}

/* What the supervisor may start, if anything. */
static void test_programs(void **state) {
        _cleanup_host_programs_ HostPrograms programs = {};
        _cleanup_plan_ Plan *none = NULL, *p = NULL;
        _cleanup_close_ int fd = -EBADF, none_fd = -EBADF;

        none = plan(&none_fd);
        assert_int_equal(launch_files_write(none, none_fd, &podman), 0);
        assert_int_equal(faccessat(none_fd, LAUNCH_FILE_PROGRAMS, F_OK, 0), -1);

        p = plan(&fd);
        assert_int_equal(strdup_to(&p->programs.browser, "/usr/bin/chrome"), 0);
        assert_int_equal(launch_files_write(p, fd, &podman), 0);
        assert_int_equal(host_programs_read(fd, &programs), 0);
        assert_string_equal(programs.browser, "/usr/bin/chrome");
        assert_null(programs.paste);
}

/* Bridge and guest are told the same. */
static void test_bridge_files(void **state) {
        char *keys[] = { (char *) "work*", NULL };

        for (Isolation i = ISOLATION_KRUN; i <= ISOLATION_CONTAINER; i++) {
                _cleanup_free_ char *text = NULL, *json = NULL, *why = NULL, *expected = NULL;
                _cleanup_manifest_ Manifest *m = NULL;
                _cleanup_plan_ Plan *p = NULL;
                _cleanup_close_ int fd = -EBADF;
                size_t n;

                stage.settings.isolation = i;
                stage.settings.ssh_keys = i == ISOLATION_KRUN ? keys : NULL;
                p = plan(&fd);
                (void) strcpy(p->id, "0123abcd");
                assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_SSH, 0 }, "/tmp/a b", "/g"), 0);
                assert_int_equal(plan_add_service(p, (ServiceId) { .kind = SERVICE_GPG }, "/run/\"x\"", "/h"), 0);
                assert_int_equal(plan_add_service(p, (ServiceId) { .kind = SERVICE_CLIPBOARD }, NULL, NULL), 0);
                assert_int_equal(mkdirat(fd, "guest", 0700), 0);
                assert_int_equal(launch_bridge_files_write(p, fd, SCOPE, 4321), 0);

                assert_int_equal(io_read_file_at(fd, LAUNCH_FILE_MANIFEST, MIB, &json, &n), 0);
                assert_int_equal(manifest_parse(json, n, &m, &why), 0);
                assert_string_equal(m->profile, STAGE_PROFILE);
                assert_string_equal(m->id, "0123abcd");
                assert_string_equal(m->cgroup, SCOPE);
                assert_int_equal(m->n_services, 3);
                assert_string_equal(m->services[0].path, "/tmp/a b");
                assert_string_equal(m->services[1].path, "/run/\"x\"");
                assert_int_equal(m->services[1].id.kind, SERVICE_GPG);
                assert_null(m->services[2].path);
                if (i == ISOLATION_KRUN)
                        assert_string_equal(m->ssh_keys[0], "work*");
                else
                        assert_null(m->ssh_keys);

                assert_int_equal(asprintf_to(&expected, "address=%s\nport=4321\ntoken=%s\nservices=ssh-0,gpg,clipboard\n",
                                i == ISOLATION_KRUN ? "169.254.1.2" : "127.0.0.1", m->token), 0);
                assert_file(fd, "guest/bridge", expected, strlen(expected));
                assert_file(fd, LAUNCH_FILE_MANIFEST, json, n);

                /* Nor is it written twice. */
                messages_begin();
                assert_int_equal(launch_bridge_files_write(p, fd, SCOPE, 4321), -EEXIST);
                text = strdup(messages_end());
                assert_one_message(text, p->launch_path);
                assert_null(strstr(text, m->token));
        }
}

/* The go appears whole, by rename, and its descriptor is the file's that appears. */
static void test_go(void **state) {
        _cleanup_plan_ Plan *p = NULL;
        _cleanup_close_ int fd = -EBADF, go = -EBADF;
        struct stat a, b;

        p = plan(&fd);
        assert_int_equal(launch_go_prepare(fd), -ENOENT);
        assert_int_equal(mkdirat(fd, "guest", 0700), 0);
        assert_int_equal(launch_go_give(fd), -ENOENT);
        go = launch_go_prepare(fd);
        assert_true(go >= 0);
        assert_int_equal(faccessat(fd, "guest/go", F_OK, 0), -1);
        assert_int_equal(launch_go_give(fd), 0);
        assert_int_equal(fstat(go, &a), 0);
        assert_int_equal(fstatat(fd, "guest/go", &b, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(a.st_ino, b.st_ino);
        assert_file(fd, "guest/go", "go\n", 3);
}

static void test_kept_data(void **state) {
        static const char *const made[] = { "", "/ssh" };
        _cleanup_plan_ Plan *p = stage_plan();
        int native = -EBADF, r;
        struct stat st;

        /* The guest program is there already. */
        make_path("home/.local/share/claude-profile/guest/0123");
        assert_int_equal(strdup_to(&p->guest_bin, in_scratch("home/.local/share/claude-profile/guest/0123")), 0);

        for (unsigned i = 0; i < 2; i++) {
                assert_int_equal(launch_data_prepare(p, &native), 0);
                assert_int_equal(native, -EBADF);
                for (size_t k = 0; k < ELEMENTSOF(made); k++) {
                        char name[256];

                        (void) snprintf(name, sizeof(name), "home/.local/share/claude-profile/profiles/" STAGE_PROFILE "%s", made[k]);
                        assert_int_equal(lstat(in_scratch(name), &st), 0);
                        assert_int_equal(st.st_mode & 07777, 0700);
                }
                assert_int_equal(lstat(in_scratch("home/.local/share/claude-profile/profiles/" STAGE_PROFILE "/sandboxed"), &st), 0);
                assert_int_equal(st.st_mode & 07777, 0600);
                assert_int_equal(st.st_size, 0);
        }

        /* A native claude is copied, and held. */
        scratch_puts("native", "x");
        assert_int_equal(strdup_to(&p->native.source, in_scratch("native")), 0);
        assert_int_equal(strdup_to(&p->native.version, "1.2.3"), 0);
        assert_int_equal(strdup_to(&p->native.copy, in_scratch("home/.local/share/claude-profile/claude/1.2.3")), 0);
        assert_int_equal(launch_data_prepare(p, &native), 0);
        assert_true(native >= 0);
        fd_close(native);

        assert_int_equal(unlink(in_scratch("native")), 0);
        messages_begin();
        r = launch_data_prepare(p, &native);
        assert_one_message(messages_end(), "Cannot copy");
        assert_int_equal(r, -ENOENT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_files_that_cannot_be_written),
                cmocka_unit_test(test_programs),
                cmocka_unit_test(test_bridge_files),
                cmocka_unit_test(test_go),
                cmocka_unit_test(test_kept_data),
        };

        return cmocka_run_group_tests(tests, stage_setup, scratch_remove);
}
