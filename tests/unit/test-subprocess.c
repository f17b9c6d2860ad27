/* SPDX-License-Identifier: MIT */

/* Helper programs: what comes back, and that nothing of them stays, however they end. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "shared/subprocess.h"

#define LONG_USEC (60 * USEC_PER_SEC)
#define EVENT_MSEC 20000

static char *const tools[] = { (char *) "PATH=/usr/local/bin:/usr/bin:/bin", NULL };

/* A shell script with the tools in its PATH. */
static Subprocess script(const char *text, char *argv[4]) {
        argv[0] = (char *) "/bin/sh";
        argv[1] = (char *) "-c";
        argv[2] = (char *) text;
        argv[3] = NULL;
        return (Subprocess) { .argv = argv, .env = tools, .timeout_usec = LONG_USEC, .output_max = 64 * KIB };
}

static int run(const char *text, char **ret) {
        char *argv[4];
        Subprocess p = script(text, argv);

        return subprocess_run(&p, ret, NULL);
}

static void test_status(void **state) {
        static const struct {
                const char *script;
                int status;
        } rows[] = {
                { "exit 0", 0 },
                { "exit 1", 1 },
                { "exit 126", 126 },
                { "exit 127", 127 }, /* the program's own, not "no such program" */
                { "exit 255", 255 },
                { "kill -TERM $$", 128 + SIGTERM },
                { "kill -KILL $$", 128 + SIGKILL },
                { "exec 1>&-; exit 3", 3 },
                { "echo lost >&2", 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *output = NULL;

                assert_int_equal(run(rows[i].script, &output), rows[i].status);
                assert_string_equal(output, "");
        }
}

static void test_output(void **state) {
        _cleanup_free_ char *output = NULL, *big = NULL, *pieces = NULL;
        char *argv[4];
        Subprocess p;
        size_t n = 0;

        /* Any byte. */
        p = script("printf 'a\\0b\\n'", argv);
        assert_int_equal(subprocess_run(&p, &output, &n), 0);
        assert_int_equal(n, 4);
        assert_memory_equal(output, "a\0b\n", 5);

        /* Up to the limit, and in pieces. */
        assert_int_equal(run("head -c 65536 /dev/zero", &big), 0);
        assert_int_equal(run("for i in 1 2 3; do /bin/echo $i; done", &pieces), 0);
        assert_string_equal(pieces, "1\n2\n3\n");

        /* A status other than 0 has its output, too; nobody has to want it. */
        output = (free(output), NULL);
        assert_int_equal(run("echo no; exit 4", &output), 4);
        assert_string_equal(output, "no\n");
        assert_int_equal(run("echo no", NULL), 0);
}

static void test_output_limit(void **state) {
        char *output = NULL;
        size_t n = 77;
        char *argv[4];
        Subprocess p;

        assert_int_equal(run("head -c 65537 /dev/zero", &output), -EFBIG);
        p = script("exec cat /dev/zero", argv);
        assert_int_equal(subprocess_run(&p, &output, &n), -EFBIG);

        /* Set only on success. */
        assert_null(output);
        assert_int_equal(n, 77);
        assert_int_equal(waitpid(-1, NULL, 0), -1);
}

static void test_input(void **state) {
        _cleanup_free_ char *output = NULL, *none = NULL, *text = malloc(MIB + 1);
        char *argv[4];
        Subprocess p;
        size_t n;

        assert_non_null(text);
        memset(text, 'x', MIB);
        text[MIB] = '\0';

        /* More than a pipe holds, to a program that writes before it reads. */
        p = script("head -c 200000 /dev/zero; cat", argv);
        p.input = text;
        p.output_max = 2 * MIB;
        assert_int_equal(subprocess_run(&p, &output, &n), 0);
        assert_int_equal(n, 200000 + MIB);

        p = script("cat", argv);
        assert_int_equal(subprocess_run(&p, &none, &n), 0);
        assert_int_equal(n, 0);
}

static void test_missing(void **state) {
        static char *const nowhere[] = { (char *) "claude-profile-no-such-program", NULL };
        char *argv[] = { NULL, NULL };
        Subprocess p = { .argv = nowhere, .timeout_usec = LONG_USEC, .output_max = KIB };
        _cleanup_free_ char *path = strdup(in_scratch("no-program")), *search = NULL;
        char *script_argv[4];

        assert_int_equal(subprocess_run(&p, NULL, NULL), -ENOENT);

        /* Nor is it there when a directory of PATH may not be searched. */
        scratch_mkdir("closed");
        assert_int_equal(chmod(in_scratch("closed"), 0), 0);
        assert_int_equal(asprintf_to(&search, "%s:/usr/bin", in_scratch("closed")), 0);
        assert_int_equal(setenv("PATH", search, 1), 0);
        assert_int_equal(subprocess_run(&p, NULL, NULL), -ENOENT);

        scratch_puts("no-program", "#!/bin/sh\n");
        argv[0] = path;
        p.argv = argv;
        assert_int_equal(subprocess_run(&p, NULL, NULL), -EACCES);

        /* A directory that is gone is not a program that is missing. */
        p = script("exit 0", script_argv);
        p.directory = in_scratch("no-program");
        assert_int_equal(subprocess_run(&p, NULL, NULL), -ENOTDIR);
        assert_int_equal(waitpid(-1, NULL, 0), -1);
}

/* A descriptor on a FIFO that a script can write to; it says POLLHUP when its last writer is gone. */
static int fifo_open(const char *name) {
        int fd;

        assert_int_equal(mkfifo(in_scratch(name), 0600), 0);
        fd = open(in_scratch(name), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_true(fd >= 0);
        return fd;
}

static void assert_was_held_and_is_gone(int fd) {
        struct pollfd pfd = { .fd = fd };
        char c;

        assert_int_equal(poll(&pfd, 1, EVENT_MSEC), 1);
        assert_int_equal(pfd.revents, POLLHUP);
        assert_int_equal(read(fd, &c, 1), 1);
}

static void test_timeout_takes_all(void **state) {
        static const char *const scripts[] = {
                /* The program itself, silent. */
                "echo >\"$FIFO\"; exec tail -f /dev/null 3>\"$FIFO\"",
                /* It ends at once; what it started keeps standard output open. */
                "(echo; exec tail -f /dev/null 3>\"$FIFO\") >\"$FIFO\" & tail -f /dev/null & exit 0",
                /* Standard output ends, the program does not, nor what it started. */
                "(echo; tail -f /dev/null) >\"$FIFO\" & exec tail -f /dev/null >/dev/null",
                /* Signals do not help it. */
                "trap '' TERM INT HUP; (echo; tail -f /dev/null) >\"$FIFO\" & cat /dev/zero >/dev/null",
        };

        for (size_t i = 0; i < ELEMENTSOF(scripts); i++) {
                _cleanup_close_ int fifo = fifo_open("fifo");
                _cleanup_free_ char *variable = NULL;
                char *argv[4], *output = NULL;
                Subprocess p = script(scripts[i], argv);
                uint64_t start;

                assert_int_equal(asprintf_to(&variable, "FIFO=%s", in_scratch("fifo")), 0);
                p.env = (char *const[]) { tools[0], variable, NULL };
                p.timeout_usec = USEC_PER_SEC;

                start = now_usec();
                assert_int_equal(subprocess_run(&p, &output, NULL), -ETIMEDOUT);
                assert_in_range(now_usec() - start, USEC_PER_SEC, 15 * USEC_PER_SEC);
                assert_null(output);

                assert_was_held_and_is_gone(fifo);
                assert_int_equal(waitpid(-1, NULL, 0), -1);
                assert_int_equal(unlink(in_scratch("fifo")), 0);
        }
}

/* The helper neither sees nor keeps what this process has open, and starts without its signal settings. */
static void test_surroundings(void **state) {
        _cleanup_free_ char *output = NULL, *where = NULL, *env = NULL, *blocked = NULL;
        char *argv[4];
        sigset_t set, old;
        Subprocess p;
        int fd;

        /* Inherited from somebody who did not mark it. */
        fd = open("/dev/null", O_RDONLY);
        assert_true(fd > STDERR_FILENO);
        assert_int_equal(run("ls -1 /proc/$$/fd; readlink /proc/$$/fd/0 /proc/$$/fd/2", &output), 0);
        assert_string_equal(output, "0\n1\n2\n/dev/null\n/dev/null\n");
        fd_close(fd);

        p = script("pwd -P", argv);
        p.directory = scratch;
        assert_int_equal(subprocess_run(&p, &where, NULL), 0);
        assert_int_equal(strncmp(where, scratch, strlen(scratch)), 0);

        p = script("exec /usr/bin/env", argv);
        p.env = NULL;
        assert_int_equal(subprocess_run(&p, &env, NULL), 0);
        assert_null(strstr(env, "HOME="));
        assert_null(strstr(env, "PATH=/usr/local"));

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGTERM);
        (void) sigaddset(&set, SIGCHLD);
        assert_int_equal(sigprocmask(SIG_BLOCK, &set, &old), 0);
        /* Its own: a shell that waits blocks signals for moments. */
        assert_int_equal(run("exec grep SigBlk /proc/self/status", &blocked), 0);
        assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
        assert_non_null(strstr(blocked, "0000000000000000"));
}

static void test_environment_pick(void **state) {
        static const char *const names[] = { "CPT_ONE", "CPT_X_*", "CPT_UNSET", "CPT_EMPTY" };
        _cleanup_strv_ char **env = NULL;

        (void) setenv("CPT_ONE", "1", 1);
        (void) setenv("CPT_ONE_MORE", "not asked for", 1);
        (void) setenv("CPT_X_A", "a=b", 1);
        (void) setenv("CPT_X_", "", 1);
        (void) setenv("CPT_X", "no", 1);
        (void) setenv("CPT_EMPTY", "", 1);

        assert_int_equal(environment_pick(&env, names, ELEMENTSOF(names)), 0);
        assert_int_equal(strv_length(env), 4);
        assert_string_equal(strv_env_get(env, "CPT_ONE"), "1");
        assert_string_equal(strv_env_get(env, "CPT_X_A"), "a=b");
        assert_string_equal(strv_env_get(env, "CPT_X_"), "");
        assert_string_equal(strv_env_get(env, "CPT_EMPTY"), "");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_status),
                cmocka_unit_test(test_output),
                cmocka_unit_test(test_output_limit),
                cmocka_unit_test(test_input),
                cmocka_unit_test(test_missing),
                cmocka_unit_test(test_timeout_takes_all),
                cmocka_unit_test(test_surroundings),
                cmocka_unit_test(test_environment_pick),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
