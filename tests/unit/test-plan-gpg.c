/* SPDX-License-Identifier: MIT */

/* gpg in the guest, with stand-ins for gpgconf, gpg and the agent. There is no supervisor to start one. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"
#include "shared/gpg-agent.h"

static char socket_path[sizeof(((struct sockaddr_un *) NULL)->sun_path)];

static void write_program(const char *name, const char *text) {
        scratch_puts(name, text);
        assert_int_equal(chmod(in_scratch(name), 0755), 0);
}

/* gpgconf prints `text` with printf(1). */
static void gpgconf_says(const char *text) {
        char script[512];

        (void) snprintf(script, sizeof(script), "#!/bin/sh\n[ \"$*\" = '--list-dirs agent-extra-socket' ] || exit 9\nprintf '%s'\n", text);
        write_program("bin/gpgconf", script);
}

static int listen_at_socket(void) {
        struct sockaddr_un sa = { .sun_family = AF_UNIX };
        int fd;

        (void) strcpy(sa.sun_path, socket_path);
        (void) unlink(socket_path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(bind(fd, (struct sockaddr *) &sa, sizeof(sa)), 0);
        assert_int_equal(listen(fd, 8), 0);
        return fd;
}

static Plan *plan(const char *said) {
        Plan *p = stage_plan();

        messages_begin();
        assert_int_equal(plan_gpg(p), 0);
        if (said)
                assert_one_message(messages_end(), said);
        else
                assert_string_equal(messages_end(), "");
        return p;
}

static void test_not_asked(void **state) {
        _cleanup_plan_ Plan *p = NULL;

        stage.settings.gpg_agent = false;
        p = plan(NULL);
        assert_int_equal(p->n_services + p->n_files, 0);
        stage.settings.gpg_agent = true;
}

static void test_agent(void **state) {
        _cleanup_plan_ Plan *p = NULL, *no_keys = NULL;
        _cleanup_close_ int fd = -EBADF;

        fd = listen_at_socket();
        gpgconf_says(socket_path);
        write_program("bin/gpg", "#!/bin/sh\n[ \"$*\" = '--batch --no-tty --no-autostart --export' ] || exit 9\nprintf 'key\\0s'\n");
        p = plan(NULL);
        assert_int_equal(p->n_services, 1);
        assert_int_equal(p->services[0].id.kind, SERVICE_GPG);
        assert_string_equal(p->services[0].host_path, socket_path);
        assert_string_equal(p->services[0].guest_path, "/home/appuser/.gnupg/S.gpg-agent");
        assert_string_equal(strv_env_get(p->guest_env, "GNUPGHOME"), "/home/appuser/.gnupg");
        assert_int_equal(p->n_files, 1);
        assert_string_equal(p->files[0].name, "guest/gpg-keys");
        assert_int_equal(p->files[0].size, 5);
        assert_memory_equal(p->files[0].data, "key\0s", 5);

        write_program("bin/gpg", "#!/bin/sh\necho half; exit 2\n");
        no_keys = plan("gets no public keys");
        assert_int_equal(no_keys->n_services, 1);
        assert_int_equal(no_keys->n_files, 0);
}

static void test_no_agent(void **state) {
        static const char *const outputs[] = { "", "relative/path\\n", "\\n", "/x\\0y\\n",
                "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
        _cleanup_plan_ Plan *dead = NULL, *missing = NULL;

        for (size_t i = 0; i < ELEMENTSOF(outputs); i++) {
                _cleanup_plan_ Plan *p = NULL;

                gpgconf_says(outputs[i]);
                p = plan("does not say where the restricted socket");
                assert_int_equal(p->n_services, 0);
        }
        write_program("bin/gpgconf", "#!/bin/sh\nexit 1\n");
        plan_free(plan("does not say where the restricted socket"));

        /* Nobody there, and none to be started. */
        (void) unlink(socket_path);
        gpgconf_says(socket_path);
        dead = plan("starting an agent did not help");
        assert_int_equal(dead->n_services, 0);
        assert_null(dead->guest_env);

        assert_int_equal(unlink(in_scratch("bin/gpgconf")), 0);
        missing = plan("GnuPG is not installed");
        assert_int_equal(missing->n_services, 0);
}

/* The user's own GnuPG home is theirs. */
static void test_environment(void **state) {
        _cleanup_free_ char *output = NULL;
        char *const argv[] = { (char *) "gpg", NULL };
        size_t n;

        write_program("bin/gpg", "#!/bin/sh\nexec /usr/bin/env\n");
        (void) setenv("GNUPGHOME", "/g", 1);
        (void) setenv("GPG_TTY", "/dev/tty", 1);
        (void) setenv("LD_PRELOAD_X", "x", 1);
        assert_int_equal(gpg_run(argv, KIB, &output, &n), 0);
        (void) unsetenv("GNUPGHOME");
        assert_contains(output, "GNUPGHOME=/g\n");
        assert_contains(output, "HOME=");
        assert_null(strstr(output, "LD_PRELOAD_X"));
        assert_null(strstr(output, "GPG_TTY"));
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        stage_make();
        scratch_mkdir("bin");
        make_path("run/claude-profile");
        (void) setenv("PATH", in_scratch("bin"), 1);
        (void) snprintf(socket_path, sizeof(socket_path), "%.90s", in_scratch("S.extra"));
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_not_asked),
                cmocka_unit_test(test_agent),
                cmocka_unit_test(test_no_agent),
                cmocka_unit_test(test_environment),
        };

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
