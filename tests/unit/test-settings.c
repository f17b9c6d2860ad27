/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "settings-stage.h"

static void check_error(const char *profile, int expected, const char *text) {
        _cleanup_settings_ Settings *s = NULL;
        _cleanup_free_ char *error = NULL;

        assert_int_equal(settings_load(&dirs, profile, &s, &error), expected);
        assert_null(s);
        assert_string_equal(error, text);
}

static void test_defaults(void **state) {
        _cleanup_settings_ Settings *s = load("work");
        _cleanup_free_ char *origin = settings_describe_origin(s, "CLAUDE_PROFILE_SANDBOX_CPUS");

        assert_string_equal(s->profiles_base, "/home/u/.claude-profiles");
        assert_string_equal(s->claude_bin, "claude");
        assert_string_equal(s->podman_bin, "podman");
        assert_int_equal(s->sandbox, -1);
        assert_string_equal(s->image, "claude-profile-sandbox:latest");
        assert_int_equal(s->isolation, ISOLATION_KRUN);
        assert_int_equal(s->ram_mib, 4096);
        assert_int_equal(s->cpus, 4);
        assert_true(s->skip_permissions);
        assert_false(s->ssh_agent || s->gpg_agent || s->clipboard || s->chrome || s->gh || s->pulumi);
        assert_null(s->infisical);
        assert_null(s->forward_env);
        assert_null(s->ssh_keys);
        assert_null(s->report_paths);
        assert_null(s->chrome_bin);
        assert_null(s->allow_root);
        assert_null(s->memory_max);
        assert_null(s->memory_high);
        assert_null(s->cpu_quota);
        assert_null(s->cpu_weight);
        assert_null(s->tasks_max);
        assert_null(s->warnings);
        assert_string_equal(origin, "the default");
}

static void check_cpus(const char *profile, uint64_t cpus, const char *origin) {
        _cleanup_settings_ Settings *s = load(profile);
        _cleanup_free_ char *o = settings_describe_origin(s, "CLAUDE_PROFILE_SANDBOX_CPUS");

        assert_int_equal(s->cpus, cpus);
        if (!str_has_suffix(o, origin))
                fail_msg("'%s', not '%s'", o, origin);
}

/* Environment, else the profile's file, else the main one, else the default; an empty variable is none. */
static void test_precedence(void **state) {
        check_cpus("work", 4, "the default");

        scratch_puts(MAIN, "[Sandbox]\nCPUs=5\n");
        check_cpus("work", 5, "/claude-profile.conf:2");
        check_cpus(NULL, 5, "/claude-profile.conf:2");

        scratch_puts(WORK, "\n\n[Sandbox]\nCPUs=6\n");
        check_cpus("work", 6, "/profiles/work.conf:4");
        check_cpus("other", 5, "/claude-profile.conf:2");
        check_cpus(NULL, 5, "/claude-profile.conf:2");

        setenv("CLAUDE_PROFILE_SANDBOX_CPUS", "7", 1);
        check_cpus("work", 7, "CLAUDE_PROFILE_SANDBOX_CPUS in the environment");
        check_cpus(NULL, 7, "in the environment");

        setenv("CLAUDE_PROFILE_SANDBOX_CPUS", "", 1);
        check_cpus("work", 6, "/profiles/work.conf:4");

        /* As in systemd's files, nothing takes back what was set before. */
        scratch_puts(WORK, "[Sandbox]\nCPUs=\n");
        check_cpus("work", 4, "/profiles/work.conf:2");
}

#define KEY "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY0"

static void test_every_key(void **state) {
        _cleanup_settings_ Settings *s = NULL;

        scratch_puts(MAIN,
                        "[Sandbox]\nProfilesBase=~/p//x/\nClaudeBin=/opt/claude\nPodmanBin=podman5\n"
                        "Sandbox=yes\nImage=localhost/x:1\nIsolation=container\nRAM=8G\nCPUs=2\n"
                        "SkipPermissions=no\nSSHAgent=on\nGPGAgent=true\nClipboard=1\nChrome=YES\nGH=yes\n"
                        "Pulumi=yes\nInfisical=a@b.c, d.e ,\nForwardEnv=A,B_2\nSSHKeys=work *," KEY "\n"
                        "ChromeBin=~/chrome\nAllowRoot=/srv/x\nReportPaths=Makefile,bin/\nMemoryMax=4G\n"
                        "MemoryHigh=50%\nCPUQuota=150%\nCPUWeight=idle\nTasksMax=infinity\n");
        s = load("work");
        assert_null(s->warnings);
        assert_string_equal(s->profiles_base, "/home/u/p/x");
        assert_string_equal(s->claude_bin, "/opt/claude");
        assert_string_equal(s->podman_bin, "podman5");
        assert_int_equal(s->sandbox, 1);
        assert_string_equal(s->image, "localhost/x:1");
        assert_int_equal(s->isolation, ISOLATION_CONTAINER);
        assert_string_equal(isolation_to_string(s->isolation), "container");
        assert_int_equal(s->ram_mib, 8192);
        assert_int_equal(s->cpus, 2);
        assert_false(s->skip_permissions);
        assert_true(s->ssh_agent && s->gpg_agent && s->clipboard && s->chrome && s->gh && s->pulumi);
        assert_int_equal(strv_length(s->infisical), 2);
        assert_string_equal(s->infisical[1], "d.e");
        assert_string_equal(s->forward_env[1], "B_2");
        assert_string_equal(s->ssh_keys[0], "work *");
        assert_string_equal(s->ssh_keys[1], KEY);
        assert_string_equal(s->chrome_bin, "/home/u/chrome");
        assert_string_equal(s->allow_root, "/srv/x");
        assert_string_equal(s->report_paths[1], "bin/");
        assert_string_equal(s->memory_max, "4G");
        assert_string_equal(s->memory_high, "50%");
        assert_string_equal(s->cpu_quota, "150%");
        assert_string_equal(s->cpu_weight, "idle");
        assert_string_equal(s->tasks_max, "infinity");
}

static void test_every_variable(void **state) {
        static const char *const variables[][2] = {
                { "PROFILES_BASE", "/b" }, { "CLAUDE_BIN", "c" }, { "PODMAN_BIN", "p" }, { "SANDBOX", "0" },
                { "SANDBOX_IMAGE", "i" }, { "SANDBOX_ISOLATION", "container" }, { "SANDBOX_CPUS", "1" },
                { "SANDBOX_RAM_MIB", "512" }, { "SANDBOX_SSH_AGENT", "1" },
                { "SANDBOX_SKIP_PERMISSIONS", "false" },
                { "SANDBOX_GPG_AGENT", "1" }, { "SANDBOX_CLIPBOARD", "1" }, { "SANDBOX_CHROME", "1" },
                { "SANDBOX_GH", "1" }, { "SANDBOX_PULUMI", "1" }, { "SANDBOX_INFISICAL", "x.y" },
                { "SANDBOX_FORWARD_ENV", "E" }, { "SANDBOX_SSH_KEYS", "k" }, { "CHROME_BIN", "chromium" },
                { "SANDBOX_ALLOW_ROOT", "~" }, { "SANDBOX_REPORT_PATHS", "r" }, { "SANDBOX_TASKS_MAX", "9" },
                { "SANDBOX_MEMORY_MAX", "1G" }, { "SANDBOX_MEMORY_HIGH", "1M" },
                { "SANDBOX_CPU_QUOTA", "9%" }, { "SANDBOX_CPU_WEIGHT", "9" },
        };
        _cleanup_settings_ Settings *s = NULL;

        for (size_t i = 0; i < ELEMENTSOF(variables); i++) {
                char name[64];

                (void) snprintf(name, sizeof(name), "CLAUDE_PROFILE_%s", variables[i][0]);
                setenv(name, variables[i][1], 1);
        }

        s = load("work");
        assert_null(s->warnings);
        for (size_t i = 0; i < ELEMENTSOF(variables); i++)
                assert_int_equal(s->origins[i].source, SETTING_ENVIRONMENT);
        assert_string_equal(s->profiles_base, "/b");
        assert_int_equal(s->sandbox, 0);
        assert_int_equal(s->ram_mib, 512);
        assert_false(s->skip_permissions);
        assert_string_equal(s->chrome_bin, "chromium");
        assert_string_equal(s->allow_root, "/home/u");
        assert_string_equal(s->tasks_max, "9");
}

/* Each type as JSON, what is not set too; and where it is from. */
static void test_views(void **state) {
        static const struct {
                const char *key, *value;
                SettingSource source;
                unsigned line;
        } rows[] = {
                { "ProfilesBase", "\"\\/home\\/u\\/.claude-profiles\"", SETTING_DEFAULT, 0 },
                { "Sandbox", "null", SETTING_DEFAULT, 0 },
                { "Isolation", "\"container\"", SETTING_MAIN_FILE, 2 },
                { "RAM", "8192", SETTING_PROFILE_FILE, 3 },
                { "SSHAgent", "true", SETTING_ENVIRONMENT, 0 },
                { "GPGAgent", "false", SETTING_DEFAULT, 0 },
                { "ForwardEnv", "[ \"A\", \"B\" ]", SETTING_MAIN_FILE, 3 },
                { "SSHKeys", "null", SETTING_DEFAULT, 0 },
                { "MemoryMax", "\"4G\"", SETTING_PROFILE_FILE, 2 },
                { "TasksMax", "null", SETTING_MAIN_FILE, 4 },
        };
        _cleanup_settings_ Settings *s = NULL;
        size_t found = 0;
        SettingView v;
        int r;

        scratch_puts(MAIN, "[Sandbox]\nIsolation=container\nForwardEnv=A,B\nTasksMax=\n");
        scratch_puts(WORK, "[Sandbox]\nMemoryMax=4G\nRAM=8G\n");
        setenv("CLAUDE_PROFILE_SANDBOX_SSH_AGENT", "1", 1);
        s = load("work");

        for (size_t i = 0; (r = settings_view(s, i, &v)) >= 0; i++) {
                _cleanup_json_ Json *value = v.value;

                assert_non_null(str_after_prefix(v.variable, "CLAUDE_PROFILE_"));
                for (size_t k = 0; k < ELEMENTSOF(rows); k++) {
                        if (!streq(rows[k].key, v.key))
                                continue;
                        found++;
                        assert_string_equal(value ? json_object_to_json_string(value) : "null", rows[k].value);
                        assert_int_equal(v.source, rows[k].source);
                        assert_int_equal(v.line, rows[k].line);
                        if (v.line > 0)
                                assert_string_equal(v.file, v.source == SETTING_MAIN_FILE ? s->main_file : s->profile_file);
                        else
                                assert_null(v.file);
                }
        }
        assert_int_equal(r, -ENOENT);
        assert_int_equal(found, ELEMENTSOF(rows));
}

/* Good values and bad ones of each type, as variables and as keys. */
static void test_values(void **state) {
        static const struct {
                const char *variable;
                const char *key;
                const char *good[12];
                const char *bad[24];
        } rows[] = {
                { "SSH_AGENT", "SSHAgent", { "1", "0", "Yes", "off", "TRUE" },
                  { "2", "y", "enable", "yes no", "-1" } },
                { "ISOLATION", "Isolation", { "krun", "container" }, { "KRUN", "none", "krun,container" } },
                { "RAM_MIB", "RAM", { "128", "512M", "8G", "1.5G", "16T", "131072K" },
                  { "0", "127", "-1", "8GB", "8g", "1.0001G", "1.5", "0.3M", "99999999999999999999", "64T",
                    "4 G", "0x100", "infinity", "50%" } },
                { "CPUS", "CPUs", { "1", "255" },
                  { "0", "256", "1.5", "+1", "4x", "99999999999999999999" } },
                { "IMAGE", "Image", { "a", "r.io:5000/x/y:z@sha256:0", "[::1]:5000/x" },
                  { "-x", "--privileged", "a b", "a\tb", "\xc3\xa9" } },
                { "ALLOW_ROOT", "AllowRoot", { "/", "/a b", "~", "~/x", "/a,b" },
                  { "x", "./x", "~user/x", "/a/../b", "~/../x" } },
                { "FORWARD_ENV", "ForwardEnv", { "A", "A,B , _C", "," },
                  { "A-B", "1A", "A B", "A=1", "A,B=" } },
                { "SSH_KEYS", "SSHKeys", { KEY, KEY ",work*", "*", "me@x.y, SHA256 ,", "a[b]?" },
                  { ",", " , ", "SHA256:abc", "work,SHA256:*", KEY "=", "MD5:9a:0b", "SHA512:x" } },
                { "MEMORY_MAX", "MemoryMax",
                  { "1", "512K", "4M", "4G", "1T", "1.5G", "100%", "0.5%", "infinity", "1E", "7B" },
                  { "0", "0%", "101%", "100.1%", "-1", "G", "4GB", "4 G", "4g", "1.5", "1.2345G", ".5G",
                    "1.G", "16E", "18446744073709551615", "infinite", "Infinity", "%", "1%%" } },
                { "MEMORY_HIGH", "MemoryHigh", { "4G", "infinity" }, { "x", "0" } },
                { "CPU_QUOTA", "CPUQuota", { "1%", "150%", "12.5%", "10000%" },
                  { "0%", "150", "infinity", "-5%", "%" } },
                { "CPU_WEIGHT", "CPUWeight", { "1", "10000", "idle" }, { "0", "10001", "100%", "Idle" } },
                { "TASKS_MAX", "TasksMax", { "1", "500", "10%", "infinity" },
                  { "0", "0%", "4K", "110%", "18446744073709551615" } },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (size_t j = 0; j < ELEMENTSOF(rows[i].good) + ELEMENTSOF(rows[i].bad); j++) {
                        const bool good = j < ELEMENTSOF(rows[i].good);
                        const size_t k = good ? j : j - ELEMENTSOF(rows[i].good);
                        const char *value = good ? rows[i].good[k] : rows[i].bad[k];
                        char name[64], t[256];

                        for (unsigned from_file = 0; value && from_file < 2; from_file++) {
                                _cleanup_settings_ Settings *s = NULL;
                                _cleanup_free_ char *error = NULL;
                                int r;

                                (void) reset(NULL);
                                if (from_file) {
                                        (void) sprintf(t, "[Sandbox]\n%s=%s\n", rows[i].key, value);
                                        scratch_puts(WORK, t);
                                } else {
                                        (void) snprintf(name, sizeof(name), "CLAUDE_PROFILE_SANDBOX_%s",
                                                        rows[i].variable);
                                        setenv(name, value, 1);
                                }

                                r = settings_load(&dirs, "work", &s, &error);
                                if (r != (good ? 0 : -EINVAL))
                                        fail_msg("%s=%s: %d, %s", rows[i].key, value, r, error);
                                if (!good) {
                                        assert_non_null(strstr(error, from_file ? "/work.conf:2: " : name));
                                        assert_non_null(strstr(error, ": expected "));
                                }
                        }
                }
}

static void test_messages(void **state) {
        char text[2 * PATH_MAX];

        setenv("CLAUDE_PROFILE_SANDBOX_CPUS", "four", 1);
        check_error("work", -EINVAL, "CLAUDE_PROFILE_SANDBOX_CPUS=four: expected a number from 1 to 255");
        setenv("CLAUDE_PROFILE_SANDBOX_CPUS", "4\n\x1b[31m\xff", 1);
        check_error("work", -EINVAL,
                        "CLAUDE_PROFILE_SANDBOX_CPUS=4\\x0a\\x1b[31m\\xff: expected UTF-8 text");
        setenv("CLAUDE_PROFILE_SANDBOX_CPUS", "4\n\x1b[31m", 1);
        check_error("work", -EINVAL,
                        "CLAUDE_PROFILE_SANDBOX_CPUS=4\\x0a\\x1b[31m: expected a number from 1 to 255");
        unsetenv("CLAUDE_PROFILE_SANDBOX_CPUS");

        /* A file's value counts also where something else overrides it. */
        setenv("CLAUDE_PROFILE_SANDBOX", "1", 1);
        scratch_puts(MAIN, "# comment\n[Sandbox]\n\nSandbox = perhaps\n");
        (void) snprintf(text, sizeof(text), "%s:4: Sandbox=perhaps: expected yes or no", in_scratch(MAIN));
        check_error("work", -EINVAL, text);

        check_error("../x", -EINVAL, "not a profile name");
}

/* What is odd in a file is left out, with file and line; CRLF, a byte-order mark and blanks are not odd. */
static void test_odd_files(void **state) {
        static const char *const warnings[] = {
                ":1: RAM: not in section [Sandbox], ignored",
                ":5: cpus: unknown key, ignored (did you mean CPUs=?)",
                ":6: CLAUDE_PROFILE_SANDBOX_CPUS: unknown key, ignored (did you mean CPUs=?)",
                ":7: Colour: unknown key, ignored",
                ":8: just words: no assignment",
                ":9: =x: no assignment",
                ":10: GH: a line cannot be continued with a backslash",
                ":11: CPUs: set before in this file, the last one counts",
                ":12: [Other: no section header: the closing bracket is missing",
                ":13: CPUs: not in section [Sandbox], ignored",
                ":15: RAM: not in section [Sandbox], ignored",
                ":17: a\\x1bb: unknown key, ignored",
                NULL,
        };
        _cleanup_settings_ Settings *s = NULL;

        scratch_puts(MAIN,
                        "\xef\xbb\xbfRAM=1\r\n ; comment\r\n[ Sandbox ]\r\n\tCPUs\t=\t6\t\r\ncpus=1\r\n"
                        "CLAUDE_PROFILE_SANDBOX_CPUS=1\r\nColour=red\r\njust words\r\n=x\r\nGH=yes\\\r\n"
                        "CPUs=7\r\n[Other\r\nCPUs=1\r\n[Unit]\r\nRAM=1\r\n[Sandbox]\na\x1b" "b=1");
        s = load("work");
        assert_int_equal(s->cpus, 7);
        assert_false(s->gh);
        assert_int_equal(s->ram_mib, 4096);
        assert_int_equal(strv_length(s->warnings), ELEMENTSOF(warnings) - 1);
        check_warnings(s, MAIN, warnings);
}

static void test_base_is_not_the_profiles(void **state) {
        static const char *const warnings[] = {
                ":2: ProfilesBase: belongs in claude-profile.conf, ignored",
                NULL,
        };
        _cleanup_settings_ Settings *s = NULL;

        scratch_puts(WORK, "[Sandbox]\nProfilesBase=/x\n");
        s = load("work");
        assert_string_equal(s->profiles_base, "/home/u/.claude-profiles");
        check_warnings(s, WORK, warnings);
}

static void test_unknown_variable(void **state) {
        _cleanup_settings_ Settings *s = NULL;

        setenv("CLAUDE_PROFILE_SANDBOX_SSH_KEY", "SHA256:x", 1);
        setenv("CLAUDE_PROFILE_SANDBOX_SSH_KEYSX", "", 1);
        setenv("CLAUDE_PROFILE_DEBUG", "1", 1);
        s = load("work");
        assert_int_equal(strv_length(s->warnings), 2);
        assert_string_equal(s->warnings[0], "CLAUDE_PROFILE_SANDBOX_SSH_KEY: unknown variable, ignored");
}

static void check_unreadable(const char *why) {
        _cleanup_settings_ Settings *s = NULL;
        _cleanup_free_ char *error = NULL;
        char text[2 * PATH_MAX];

        (void) snprintf(text, sizeof(text), "%s: cannot be read: %s", in_scratch(MAIN), why);
        assert_true(settings_load(&dirs, NULL, &s, &error) < 0);
        assert_string_equal(error, text);
        (void) remove(in_scratch(MAIN));
}

/* Files that are none: named, and nothing hangs. */
static void test_unreadable(void **state) {
        _cleanup_free_ char *big = calloc(1, 1024 * 1024 + 1);
        _cleanup_settings_ Settings *s = NULL;

        assert_int_equal(mkfifo(in_scratch(MAIN), 0600), 0);
        check_unreadable("not a regular file");
        assert_int_equal(mkdir(in_scratch(MAIN), 0700), 0);
        check_unreadable("not a regular file");
        assert_int_equal(symlink("nowhere", in_scratch(MAIN)), 0);
        check_unreadable("a link to nothing");
        assert_int_equal(symlink("/dev/zero", in_scratch(MAIN)), 0);
        check_unreadable("not a regular file");
        scratch_puts(MAIN, "[Sandbox]\nImage=\xff\n");
        check_unreadable("not UTF-8 text");
        scratch_write(MAIN, "[Sandbox]\0\n", 11);
        check_unreadable("not UTF-8 text");
        memset(big, '#', 1024 * 1024 + 1);
        scratch_write(MAIN, big, 1024 * 1024 + 1);
        check_unreadable("more than 1 MiB");

        /* A good link is followed. */
        scratch_puts("elsewhere", "[Sandbox]\nCPUs=9\n");
        assert_int_equal(symlink("elsewhere", in_scratch(MAIN)), 0);
        s = load(NULL);
        assert_int_equal(s->cpus, 9);
}

/* It is a part of each launch, whose whole own time is under 10 ms. */
static void test_quick(void **state) {
        uint64_t best = UINT64_MAX;

        scratch_puts(MAIN, "[Sandbox]\nCPUs=5\nSSHAgent=yes\nRAM=8G\n");
        scratch_puts(WORK, "[Sandbox]\nForwardEnv=A,B,C\nMemoryMax=8G\n");

        for (unsigned i = 0; i < 50; i++) {
                const uint64_t start = now_usec();

                settings_free(load("work"));
                best = MIN(best, now_usec() - start);
        }

        print_message("# settings_load(): %llu µs\n", (unsigned long long) best);
        assert_true(best < 1 * USEC_PER_MSEC);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_defaults, reset),
                cmocka_unit_test_setup(test_precedence, reset),
                cmocka_unit_test_setup(test_every_key, reset),
                cmocka_unit_test_setup(test_every_variable, reset),
                cmocka_unit_test_setup(test_views, reset),
                cmocka_unit_test_setup(test_values, reset),
                cmocka_unit_test_setup(test_messages, reset),
                cmocka_unit_test_setup(test_odd_files, reset),
                cmocka_unit_test_setup(test_base_is_not_the_profiles, reset),
                cmocka_unit_test_setup(test_unknown_variable, reset),
                cmocka_unit_test_setup(test_unreadable, reset),
                cmocka_unit_test_setup(test_quick, reset),
        };

        return cmocka_run_group_tests(tests, settings_setup, scratch_remove);
}
