/* SPDX-License-Identifier: MIT */

/* Starting podman, with a stand-in for it: what it is given, what it is not, and what comes back when it cannot be started. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"
#include "launch/podman-spawn.h"
#include "messages.h"

/* A directory that looks like a control group to those who only write to it. */
static int stand_in_group(const char *name) {
        char file[128];
        int fd;

        scratch_mkdir(name);
        (void) snprintf(file, sizeof(file), "%s/cgroup.procs", name);
        scratch_puts(file, "");
        fd = open(in_scratch(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

static void write_program(const char *name, const char *text) {
        scratch_puts(name, text);
        assert_int_equal(chmod(in_scratch(name), 0755), 0);
}

static Plan *plan(const char *podman) {
        Plan *p;

        (void) snprintf(stage.podman, sizeof(stage.podman), "%s", podman);
        p = stage_plan();
        assert_int_equal(strdup_to(&p->directory, "/w/a b"), 0);
        p->tty = false;
        return p;
}

static char *read_scratch(const char *name) {
        char *text;

        assert_int_equal(io_read_file_at(AT_FDCWD, in_scratch(name), MIB, &text, NULL), 0);
        return text;
}

static int wait_for(pid_t pid) {
        int status;

        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static void test_what_podman_gets(void **state) {
        _cleanup_free_ char *text = NULL, *joined = NULL, *out = NULL;
        _cleanup_strv_ char **env = NULL, **argv = NULL, **got = NULL;
        _cleanup_close_ int group = -EBADF, leaked = -EBADF;
        _cleanup_plan_ Plan *p = NULL;
        PodmanAccess podman = { 0 };
        sigset_t set, old;
        pid_t pid;

        write_program("podman", "#!/bin/sh\n"
                                "exec >\"$OUT\"\n"
                                "ls -1 /proc/self/fd; grep SigBlk /proc/self/status; env\n"
                                "printf '%s\\n' \"$@\" >\"$OUT.args\"\n"
                                "exit 3\n");
        assert_int_equal(asprintf_to(&out, "OUT=%s", in_scratch("out")), 0);
        assert_int_equal(strv_add_many(&env, "PATH=/usr/bin:/bin", out, NULL), 0);
        podman.environment = env;
        group = stand_in_group("group");
        p = plan(in_scratch("podman"));

        /* Inherited without a mark, say from a terminal program. */
        leaked = open("/dev/null", O_RDONLY);
        assert_true(leaked > STDERR_FILENO);
        (void) setenv("LD_PRELOAD_NOT", "planted", 1);
        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGTERM);
        (void) sigaddset(&set, SIGCHLD);
        assert_int_equal(sigprocmask(SIG_BLOCK, &set, &old), 0);

        assert_int_equal(podman_spawn(&(GuestRunOptions) {
                        .plan = p, .podman = &podman, .guest_cgroup_fd = group, .port = 4321 }, &pid), 0);
        assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
        assert_int_equal(wait_for(pid), 3 << 8);

        text = read_scratch("out");
        /* 3 is the directory that ls reads. */
        assert_non_null(str_after_prefix(text, "0\n1\n2\n3\nSigBlk:\t0000000000000000\n"));
        assert_contains(text, "PATH=/usr/bin:/bin\n");
        assert_null(strstr(text, "LD_PRELOAD_NOT"));
        assert_null(strstr(text, "HOME="));

        /* Before anything of podman ran, it was in its group. */
        joined = read_scratch("group/cgroup.procs");
        assert_string_equal(joined, "0");

        text = (free(text), read_scratch("out.args"));
        assert_int_equal(strv_split(text, '\n', &got), 0);
        assert_int_equal(plan_podman_argv(p, 4321, &argv), 0);
        assert_int_equal(strv_length(got), strv_length(argv) - 1);
        for (size_t i = 0; got[i]; i++)
                assert_string_equal(got[i], argv[i + 1]);
}

static void test_failures(void **state) {
        _cleanup_close_ int group = stand_in_group("group2"), no_group = -EBADF;
        _cleanup_plan_ Plan *missing = NULL, *broken = NULL, *fine = NULL;
        PodmanAccess podman = { 0 };
        GuestRunOptions options = { .podman = &podman, .guest_cgroup_fd = group };
        pid_t pid = 4711;

        options.plan = missing = plan(in_scratch("no-podman"));
        assert_int_equal(podman_spawn(&options, &pid), -ENOENT);

        scratch_puts("not-executable", "#!/bin/sh\n");
        options.plan = broken = plan(in_scratch("not-executable"));
        assert_int_equal(podman_spawn(&options, &pid), -EACCES);

        /* Outside of its group it must not run. */
        scratch_mkdir("no-group");
        no_group = open(in_scratch("no-group"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        write_program("podman2", "#!/bin/sh\necho ran >\"$0.ran\"\n");
        options.guest_cgroup_fd = no_group;
        options.plan = fine = plan(in_scratch("podman2"));
        assert_int_equal(podman_spawn(&options, &pid), -ENOENT);
        assert_int_equal(access(in_scratch("podman2.ran"), F_OK), -1);

        assert_int_equal(pid, 4711);
        assert_int_equal(waitpid(-1, NULL, 0), -1);
        assert_int_equal(errno, ECHILD);
}

/* The launcher is killed: podman hears of it. */
static void test_parent_death(void **state) {
        _cleanup_close_ int group = stand_in_group("group3"), fifo = -EBADF;
        _cleanup_plan_ Plan *p = NULL;
        PodmanAccess podman = { 0 };
        _cleanup_strv_ char **env = NULL;
        pid_t launcher;
        char c;

        assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
        /* SIGKILL: a shell's child that has not yet become tail would lose another signal, and tail would stay for ever. */
        write_program("podman3", "#!/bin/sh\ntrap 'kill -9 $!; echo T; exit' TERM\nexec >\"$FIFO\"\ntail -f /dev/null >/dev/null &\necho R\n"
                        "while :; do wait; done\n");
        assert_int_equal(strv_addf(&env, "FIFO=%s", in_scratch("fifo")), 0);
        assert_int_equal(strv_add(&env, "PATH=/usr/bin:/bin"), 0);
        podman.environment = env;
        p = plan(in_scratch("podman3"));

        launcher = fork();
        assert_true(launcher >= 0);
        if (launcher == 0) {
                pid_t pid;

                (void) podman_spawn(&(GuestRunOptions) { .plan = p, .podman = &podman, .guest_cgroup_fd = group }, &pid);
                for (;;)
                        (void) pause();
        }

        fifo = open(in_scratch("fifo"), O_RDONLY | O_CLOEXEC);
        assert_true(fifo >= 0);
        assert_int_equal(read(fifo, &c, 1), 1);
        assert_int_equal(c, 'R');
        assert_int_equal(read(fifo, &c, 1), 1);

        assert_int_equal(kill(launcher, SIGKILL), 0);
        assert_int_equal(wait_for(launcher), SIGKILL);
        assert_int_equal(read(fifo, &c, 1), 1);
        assert_int_equal(c, 'T');
        /* Until the last of it is gone. */
        while (read(fifo, &c, 1) > 0)
                ;
}

static void test_explanations(void **state) {
        static const struct {
                const char *script; /* of `podman image exists` */
                Isolation isolation;
                const char *said;
        } rows[] = {
                { "exit 1", ISOLATION_KRUN, "claude-profile build" },
                { "exit 1", ISOLATION_CONTAINER, "claude-profile build" },
                { "exit 0", ISOLATION_KRUN, "krun handler" },
                { "exit 0", ISOLATION_CONTAINER, "podman run --rm --network=pasta" },
                /* podman itself does not work: nothing is known about the image. */
                { "exit 125", ISOLATION_CONTAINER, "podman run --rm --network=pasta" },
                { "kill -9 $$", ISOLATION_KRUN, "krun handler" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *text = NULL, *program = strdup(in_scratch("podman4"));
                _cleanup_plan_ Plan *p = plan(program);
                PodmanAccess podman = { .program = program };

                assert_int_equal(asprintf_to(&text, "#!/bin/sh\n[ \"$1 $2 $3\" = 'image exists --' ] || exit 99\n%s\n", rows[i].script), 0);
                write_program("podman4", text);
                stage.settings.isolation = rows[i].isolation;

                messages_begin();
                assert_int_equal(podman_explain_early_end(&(GuestRunOptions) { .plan = p, .podman = &podman, .launch_fd = -EBADF }, 125), 0);
                assert_one_message(messages_end(), rows[i].said);
        }
}

/* Of itself podman ends with no other statuses. */
static void test_early_ends(void **state) {
        static const int statuses[] = { 0, 1, 124, 128, 137 };

        for (size_t i = 0; i < ELEMENTSOF(statuses); i++) {
                messages_begin();
                assert_int_equal(podman_explain_early_end(&(GuestRunOptions) { .launch_fd = -EBADF }, statuses[i]), -ECANCELED);
                assert_one_message(messages_end(), "nothing has run in it");
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_podman_gets),
                cmocka_unit_test(test_failures),
                cmocka_unit_test(test_parent_death),
                cmocka_unit_test(test_explanations),
                cmocka_unit_test(test_early_ends),
        };

        return cmocka_run_group_tests(tests, stage_setup, scratch_remove);
}
