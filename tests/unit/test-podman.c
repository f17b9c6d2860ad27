/* SPDX-License-Identifier: MIT */

/* podman as a helper, with a stand-in for it that writes down what it was asked. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "shared/launch-dir.h"
#include "shared/podman.h"

#define ID "0123abcd"

static int scratch_fd(void) {
        int fd;

        fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

/* The stand-in: appends its arguments as a line to `log`, then does what `script` says. */
static PodmanAccess stand_in(const char *script) {
        static char program[PATH_MAX + 256], variable[PATH_MAX + 256];
        static char *env[] = { (char *) "PATH=/usr/bin:/bin", variable, NULL };
        _cleanup_free_ char *text = NULL;

        (void) unlink(in_scratch("log"));
        (void) unlink(in_scratch("count"));
        assert_int_equal(asprintf_to(&text, "#!/bin/sh\necho \"$*\" >>\"$S/log\"\npwd >\"$S/pwd\"\n%s\n", script), 0);
        scratch_puts("podman", text);
        assert_int_equal(chmod(in_scratch("podman"), 0755), 0);

        (void) snprintf(program, sizeof(program), "%s", in_scratch("podman"));
        (void) snprintf(variable, sizeof(variable), "S=%s", scratch);
        return (PodmanAccess) { .program = program, .environment = env };
}

static void assert_log(const char *expected) {
        _cleanup_free_ char *text = NULL;

        assert_int_equal(io_read_file_at(AT_FDCWD, in_scratch("log"), MIB, &text, NULL), 0);
        assert_string_equal(text, expected);
}

static void test_environment(void **state) {
        static const char *const given[] = { "HOME", "PATH", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR",
                "LANG", "TERM", "COLORTERM", "CONTAINERS_CONF", "REGISTRY_AUTH_FILE" };
        static const char *const kept_away[] = { "LD_PRELOAD_X", "ANTHROPIC_API_KEY", "http_proxy", "HOME_X", "PATHS", "LANGUAGE",
                "CONTAINER_HOST", "XDGX", "NOTIFY_SOCKET", "LISTEN_FDS", "SSH_AUTH_SOCK" };
        _cleanup_strv_ char **env = NULL;
        char *none[] = { NULL }, **saved = environ;

        environ = none;
        for (size_t i = 0; i < ELEMENTSOF(given); i++)
                (void) setenv(given[i], "x", 1);
        for (size_t i = 0; i < ELEMENTSOF(kept_away); i++)
                (void) setenv(kept_away[i], "x", 1);

        assert_int_equal(podman_environment(&env), 0);
        assert_int_equal(strv_length(env), ELEMENTSOF(given));
        for (size_t i = 0; i < ELEMENTSOF(given); i++)
                assert_non_null(strv_env_get(env, given[i]));
        environ = saved;
}

static void test_access_comes_back(void **state) {
        _cleanup_podman_access_ PodmanAccess back = { 0 };
        char *env[] = { (char *) "A=", (char *) "B=\"quoted\" \\ \n\t\x1b", (char *) "C=grüß", (char *) "PATH=/usr/bin", NULL };
        PodmanAccess a = { .program = (char *) "/opt/a \"b\"/podman", .environment = env };
        _cleanup_close_ int fd = scratch_fd();
        struct stat st;

        assert_int_equal(podman_access_write(fd, &a), 0);
        assert_int_equal(fstatat(fd, LAUNCH_FILE_CLEANUP, &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(podman_access_read(fd, &back), 0);
        assert_string_equal(back.program, a.program);
        assert_int_equal(strv_length(back.environment), 4);
        for (size_t i = 0; env[i]; i++)
                assert_string_equal(back.environment[i], env[i]);

        /* Once a launch. */
        assert_int_equal(podman_access_write(fd, &a), -EEXIST);
        assert_int_equal(unlinkat(fd, LAUNCH_FILE_CLEANUP, 0), 0);
}

static void test_access_garbage(void **state) {
        static const char *const rows[] = {
                "", "x", "{}", "[]", "null", "{\"podman\":\"p\"}", "{\"environment\":[]}", "{\"podman\":null,\"environment\":[]}",
                "{\"podman\":1,\"environment\":[]}", "{\"podman\":\"p\",\"environment\":{}}", "{\"podman\":\"p\",\"environment\":[null]}",
                "{\"podman\":\"p\",\"environment\":[\"A=b\",1]}", "{\"podman\":\"p\",\"environment\":[",
        };
        _cleanup_close_ int fd = scratch_fd();

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                PodmanAccess a = { 0 };

                scratch_puts(LAUNCH_FILE_CLEANUP, rows[i]);
                assert_int_equal(podman_access_read(fd, &a), -EBADMSG);
                assert_null(a.program);
        }

        assert_int_equal(unlinkat(fd, LAUNCH_FILE_CLEANUP, 0), 0);
        assert_int_equal(podman_access_read(fd, &(PodmanAccess) { 0 }), -ENOENT);
        assert_int_equal(symlinkat("/etc/passwd", fd, LAUNCH_FILE_CLEANUP), 0);
        assert_int_equal(podman_access_read(fd, &(PodmanAccess) { 0 }), -ELOOP);
        assert_int_equal(unlinkat(fd, LAUNCH_FILE_CLEANUP, 0), 0);
}

#define RM                                                                                                    \
        "rm --force --time=0 --volumes --filter=label=claude-profile.launch=" ID                              \
        " --filter=label=claude-profile.profile=a.b --filter=name=^claude-a.b-" ID "$\n"

static void test_remove(void **state) {
        _cleanup_free_ char *where = NULL;
        PodmanAccess a;

        a = stand_in("exit 0");
        assert_int_equal(podman_remove_launch(&a, "a.b", ID), 0);
        assert_log(RM);

        /* From a directory that is always there. */
        assert_int_equal(io_read_file_at(AT_FDCWD, in_scratch("pwd"), KIB, &where, NULL), 0);
        assert_string_equal(where, "/\n");

        /* The first one after a dead conmon fails. */
        a = stand_in("echo x >>\"$S/count\"; [ \"$(wc -l <\"$S/count\")\" -ge 2 ]");
        assert_int_equal(podman_remove_launch(&a, "a.b", ID), 0);
        assert_log(RM RM);

        a = stand_in("exit 125");
        assert_int_equal(podman_remove_launch(&a, "a.b", ID), -EBUSY);
        assert_log(RM RM RM);

        a.program = (char *) "/nonexistent/podman";
        assert_int_equal(podman_remove_launch(&a, "a.b", ID), -ENOENT);
}

static void test_list(void **state) {
        _cleanup_strv_ char **ids = NULL, **none = NULL, **failed = NULL;
        PodmanAccess a;

        a = stand_in("printf '" ID "\\n\\n<no value>\\n0123ABCD\\n0123abc\\n../../x\\nfedcba98\\n'");
        assert_int_equal(podman_list_launches(&a, "a.b", &ids), 0);
        assert_int_equal(strv_length(ids), 2);
        assert_string_equal(ids[0], ID);
        assert_string_equal(ids[1], "fedcba98");
        assert_log("ps --all --format={{index .Labels \"claude-profile.launch\"}} --filter label=claude-profile.profile=a.b\n");

        a = stand_in("exit 0");
        assert_int_equal(podman_list_launches(&a, "a.b", &none), 0);
        assert_int_equal(strv_length(none), 0);

        a = stand_in("echo " ID "; exit 125");
        assert_int_equal(podman_list_launches(&a, "a.b", &failed), -EIO);
        assert_null(failed);
}

static void test_image(void **state) {
        PodmanAccess a;

        a = stand_in("exit 0");
        assert_int_equal(podman_image_exists(&a, "--odd name"), 1);
        assert_log("image exists -- --odd name\n");
        a = stand_in("exit 1");
        assert_int_equal(podman_image_exists(&a, "x"), 0);
        a = stand_in("exit 125");
        assert_int_equal(podman_image_exists(&a, "x"), -EIO);
        a = stand_in("kill -KILL $$");
        assert_int_equal(podman_image_exists(&a, "x"), -EIO);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_environment),
                cmocka_unit_test(test_access_comes_back),
                cmocka_unit_test(test_access_garbage),
                cmocka_unit_test(test_remove),
                cmocka_unit_test(test_list),
                cmocka_unit_test(test_image),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
