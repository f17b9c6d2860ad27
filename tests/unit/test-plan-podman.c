/* SPDX-License-Identifier: MIT */

/* podman's command line, to the letter: it decides what a sandbox can reach. Each case is compared with a file of
 * tests/golden/, one argument a line, escaped. UPDATE_GOLDEN=1 writes the files; read the difference before it is committed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"

/* What can stand in a path and means something to a shell, to CSV, to podman's own syntax or to a terminal. */
static const char *const odd[] = {
        ":", ",", "\"", "'", "src=", ",ro", " ", "\t", "\n", "\x1b[31m", "$HOME", "%s", "\\", "=", ";", "|", "*", "?", "#", "\x7f",
        "grüß 日本", "\"\"", "-", "\r",
};

/* The plan of a launch of profile work in a linked worktree, with what the parts would put in. */
static Plan *fixed_plan(void) {
        Plan *p;

        stage_fill();
        (void) strcpy(stage.runtime, "/run/user/1000/claude-profile");
        p = stage_plan();

        (void) strcpy(p->id, "0123abcd");
        assert_int_equal(strdup_to(&p->container, "claude-work-0123abcd"), 0);
        assert_int_equal(strdup_to(&p->launch_path, "/run/user/1000/claude-profile/work-0123abcd"), 0);
        assert_int_equal(strdup_to(&p->directory, "/home/dev/src/thing/sub"), 0);
        p->tty = false;

        assert_int_equal(plan_add_mount(p, MOUNT_TMPFS, NULL, GUEST_RUN, 0, "run"), 0);
        assert_int_equal(plan_add_copy(p, "gitconfig-copy", strdup("x"), 1, GUEST_HOME "/.gitconfig", "copy"), 0);
        assert_int_equal(plan_add_mount(p, MOUNT_BIND, "/home/dev/src/thing", "/home/dev/src/thing", MOUNT_RELABEL, "root"), 0);
        assert_int_equal(plan_add_mount(p, MOUNT_BIND, "/home/dev/.mcp.json", "/home/dev/.mcp.json", MOUNT_READ_ONLY, "mcp"), 0);
        assert_int_equal(strv_add_many(&p->guest_env, "CLAUDE_CONFIG_DIR=" GUEST_CLAUDE_DIR, "TERM=xterm-256color", NULL), 0);
        return p;
}

static void add_services(Plan *p) {
        assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_SSH, 0 }, "/tmp/ssh-x/agent.1", GUEST_RUN "/ssh-agent-0.sock"), 0);
        assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_SSH, 1 }, "/tmp/ssh-x/agent.2", GUEST_RUN "/ssh-agent-1.sock"), 0);
        assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_GPG, 0 }, "/run/x", GUEST_GNUPG_DIR "/S.gpg-agent"), 0);
        /* Those without a socket in the guest are not forwarded. */
        assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_CLIPBOARD, 0 }, NULL, NULL), 0);
        assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_OPEN, 0 }, NULL, NULL), 0);
        assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_CHROME, 0 }, "/tmp/x", GUEST_CHROME_SOCKET), 0);
}

static void add_git_common(Plan *p) {
        assert_int_equal(plan_add_mount(p, MOUNT_BIND, "/home/dev/src/main/.git", "/home/dev/src/main/.git", MOUNT_RELABEL, "git"), 0);
}

static void compare(const Plan *p, uint16_t port, const char *name) {
        _cleanup_free_ char *path = NULL, *expected = NULL, *is = NULL;
        _cleanup_strv_ char **argv = NULL;
        size_t n;
        FILE *f;

        assert_int_equal(plan_podman_argv(p, port, &argv), 0);
        f = open_memstream(&is, &n);
        assert_non_null(f);
        STRV_FOREACH(a, argv) {
                _cleanup_free_ char *shown = str_escape(*a);

                (void) fprintf(f, "%s\n", shown);
        }
        assert_int_equal(fclose(f), 0);

        assert_int_equal(asprintf_to(&path, "%s/%s", getenv("GOLDEN_DIR") ?: "tests/golden", name), 0);
        if (getenv("UPDATE_GOLDEN")) {
                f = fopen(path, "we");
                assert_non_null(f);
                (void) fputs(is, f);
                assert_int_equal(fclose(f), 0);
        }
        assert_int_equal(io_read_file_at(AT_FDCWD, path, MIB, &expected, NULL), 0);
        assert_string_equal(is, expected);
}

static void test_krun(void **state) {
        _cleanup_plan_ Plan *p = fixed_plan();

        compare(p, 0, "podman-krun.txt");
}

/* A clipboard alone: a port, and nothing to forward. */
static void test_no_forward(void **state) {
        _cleanup_plan_ Plan *p = fixed_plan();
        _cleanup_strv_ char **argv = NULL;

        assert_int_equal(plan_add_service(p, (ServiceId) { SERVICE_CLIPBOARD, 0 }, NULL, NULL), 0);
        assert_int_equal(plan_podman_argv(p, 43210, &argv), 0);
        assert_true(strv_contains(argv, "--env=CLAUDE_SANDBOX_BRIDGE_PORT=43210"));
        STRV_FOREACH(a, argv)
                assert_null(strstr(*a, GUEST_ENV_FORWARDS));
}

static void test_krun_all(void **state) {
        _cleanup_plan_ Plan *p = fixed_plan();

        stage.settings.ram_mib = 16384;
        stage.settings.cpus = 12;
        (void) strcpy(stage.podman, "/opt/podman/bin/podman");
        (void) strcpy(stage.image, "registry.example:5000/sandbox@sha256:00");
        p->tty = true;
        add_services(p);
        add_git_common(p);
        compare(p, 43210, "podman-krun-all.txt");
}

static void test_container(void **state) {
        _cleanup_plan_ Plan *p = fixed_plan();

        stage.settings.isolation = ISOLATION_CONTAINER;
        compare(p, 0, "podman-container.txt");
}

static void test_container_all(void **state) {
        _cleanup_plan_ Plan *p = fixed_plan();

        stage.settings.isolation = ISOLATION_CONTAINER;
        p->tty = true;
        add_services(p);
        add_git_common(p);
        p->hook_ports[p->n_hook_ports++] = 80;
        p->hook_ports[p->n_hook_ports++] = 65535;
        compare(p, 43210, "podman-container-all.txt");
}

/* HTTP hooks on the host's loopback, with and without a bridge. */
static void test_hook_ports(void **state) {
        static const struct {
                Isolation isolation;
                uint16_t port;
                size_t n;
                const char *network;
        } rows[] = {
                { ISOLATION_CONTAINER, 0, 1, "--network=pasta:-T,7001" },
                { ISOLATION_CONTAINER, 43210, 2, "--network=pasta:-T,43210,-T,7001,-T,7002" },
                { ISOLATION_CONTAINER, 65535, HOOK_PORTS_MAX, NULL },
                { ISOLATION_KRUN, 0, 1, "--network=pasta:--map-host-loopback,169.254.1.2" },
                { ISOLATION_KRUN, 43210, 2, "--network=pasta:--map-host-loopback,169.254.1.2" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = fixed_plan();
                _cleanup_strv_ char **argv = NULL;

                stage.settings.isolation = rows[i].isolation;
                for (p->n_hook_ports = 0; p->n_hook_ports < rows[i].n; p->n_hook_ports++)
                        p->hook_ports[p->n_hook_ports] = (uint16_t) ((rows[i].network ? 7001 : 65500) + p->n_hook_ports);
                assert_int_equal(plan_podman_argv(p, rows[i].port, &argv), 0);
                assert_true(!rows[i].network || strv_contains(argv, rows[i].network));
        }
}

/* A working directory of every kind, which is an argument by itself. */
static void test_odd_directory(void **state) {
        _cleanup_plan_ Plan *p = fixed_plan();

        assert_int_equal(strdup_to(&p->directory, "/w/ loglevel=7/x KRUN_INIT=/bin/sh/a,b:c\"d\ne\x1b"), 0);
        assert_int_equal(plan_add_mount(p, MOUNT_BIND, p->directory, p->directory, MOUNT_RELABEL, "work root"), 0);
        compare(p, 0, "podman-odd.txt");
}

/* Reads as Go's encoding/csv does, with which podman reads --mount: fields of the first record, of which there must be no second. */
static char **csv_parse(const char *s) {
        char **fields = NULL;

        for (;;) {
                _cleanup_free_ char *field = malloc(strlen(s) + 1);
                char *q = field;
                bool quoted = *s == '"';

                assert_non_null(field);
                for (s += quoted; quoted || (*s && *s != ',');) {
                        assert_int_not_equal(*s, '\0');
                        if (*s == '"') {
                                assert_true(quoted); /* Go: bare " in non-quoted field */
                                if (*++s != '"')
                                        break;
                        }
                        if (s[0] == '\r' && s[1] == '\n')
                                s++;
                        assert_true(quoted || *s != '\n');
                        *q++ = *s++;
                }
                *q = '\0';
                assert_int_equal(strv_add(&fields, field), 0);

                if (*s == '\0')
                        return fields;
                assert_int_equal(*s++, ',');
        }
}

static void assert_parses_back(const char *source, const char *target, MountFlags flags) {
        Mount m = { .kind = MOUNT_BIND, .flags = flags, .source = (char *) source, .target = (char *) target };
        _cleanup_free_ char *argument = NULL;
        _cleanup_strv_ char **fields = NULL;
        const char *src, *dst;
        size_t n = 3;

        assert_int_equal(mount_to_argument(&m, &argument), 0);
        fields = csv_parse(argument);

        assert_string_equal(fields[0], "type=bind");
        src = str_after_prefix(fields[1], "src=");
        dst = str_after_prefix(fields[2], "dst=");
        assert_non_null(src);
        assert_non_null(dst);
        assert_string_equal(src, source);
        assert_string_equal(dst, target);
        if (flags & MOUNT_READ_ONLY)
                assert_string_equal(fields[n++], "ro");
        if (flags & MOUNT_RELABEL)
                assert_string_equal(fields[n++], "relabel=shared");
        assert_null(fields[n]);
}

static void test_odd_mounts(void **state) {
        char all[512] = "/w/";

        for (size_t i = 0; i < ELEMENTSOF(odd); i++) {
                char begin[64], middle[64], end[64];

                (void) snprintf(begin, sizeof(begin), "/%sx", odd[i]);
                (void) snprintf(middle, sizeof(middle), "/w/a%sb/c", odd[i]);
                (void) snprintf(end, sizeof(end), "/w/a%s", odd[i]);
                assert_parses_back(begin, end, 0);
                assert_parses_back(middle, begin, MOUNT_READ_ONLY);
                assert_parses_back(end, middle, MOUNT_READ_ONLY | MOUNT_RELABEL);
                (void) strcat(all, odd[i]);
        }

        assert_parses_back(all, "/x", MOUNT_RELABEL);
        assert_parses_back("/x", all, 0);
}

/* What podman's reader would change is refused. */
static void test_inexpressible(void **state) {
        Mount m = { .kind = MOUNT_BIND, .source = (char *) "/a\r\nb", .target = (char *) "/x" };
        char *argument = NULL;

        assert_int_equal(mount_to_argument(&m, &argument), -EINVAL);
        m = (Mount) { .kind = MOUNT_TMPFS, .target = (char *) "/a\r\n" };
        assert_int_equal(mount_to_argument(&m, &argument), -EINVAL);
        assert_null(argument);
}

static void test_tmpfs(void **state) {
        Mount m = { .kind = MOUNT_TMPFS, .target = (char *) "/run/x,\"y" };
        _cleanup_free_ char *argument = NULL;

        assert_int_equal(mount_to_argument(&m, &argument), 0);
        assert_string_equal(argument, "type=tmpfs,\"dst=/run/x,\"\"y\",notmpcopyup,tmpfs-mode=0755");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_krun),
                cmocka_unit_test(test_no_forward),
                cmocka_unit_test(test_krun_all),
                cmocka_unit_test(test_container),
                cmocka_unit_test(test_container_all),
                cmocka_unit_test(test_hook_ports),
                cmocka_unit_test(test_odd_directory),
                cmocka_unit_test(test_odd_mounts),
                cmocka_unit_test(test_inexpressible),
                cmocka_unit_test(test_tmpfs),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
