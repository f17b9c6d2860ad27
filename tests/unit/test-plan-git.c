/* SPDX-License-Identifier: MIT */

/* git's identity in the guest: what git resolves here comes out of the written file again, and a repository that a guest wrote
 * runs nothing and stops nobody for long. Skipped (77) where git is not installed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/str.h"
#include "scratch.h"
#include "launch-stage.h"
#include "git-helper.h"
#include "messages.h"

#define GLOBAL "guest/gitconfig"

static char *path_variable;

static int ask_and_plan(Plan *p) {
        int r;

        r = plan_git_ask(p);
        return r < 0 ? r : plan_git(p);
}

/* The plan's part for a launch in `where`, and what it said, or NULL. */
static Plan *plan_in_told(const char *where, bool with_gpg, const char *said) {
        Plan *p = stage_plan();

        assert_int_equal(strdup_to(&p->directory, in_scratch(where)), 0);
        if (with_gpg)
                assert_int_equal(plan_add_service(p, (ServiceId) { .kind = SERVICE_GPG }, "/x", "/y"), 0);
        messages_begin();
        assert_int_equal(ask_and_plan(p), 0);
        assert_said(messages_end(), said);
        return p;
}

static Plan *plan_in(const char *where, bool with_gpg) {
        return plan_in_told(where, with_gpg, NULL);
}

static const PlanFile *find_file(const Plan *p, const char *name) {
        for (size_t i = 0; i < p->n_files; i++)
                if (streq(p->files[i].name, name))
                        return &p->files[i];

        return NULL;
}

/* What git finds for `key` in the file that the guest will have; "-" for nothing. */
static const char *value_of(const Plan *p, const char *key) {
        static char *value;
        const PlanFile *f = find_file(p, GLOBAL);
        int r;

        assert_non_null(f);
        scratch_write("global", f->data, f->size);
        free(value);
        value = NULL;
        r = git_ask(".", (char *const[]) { ARG("config"), ARG("--file"), ARG(in_scratch("global")), ARG("--null"), ARG("--get"),
                        ARG(key), NULL }, &value);
        assert_true(r == 0 || r == 1);
        return r == 0 ? value : "-";
}

/* ~/.gitconfig with these lines. */
static void home_config(const char *text) {
        (void) unlink(in_scratch("home/.gitconfig"));
        scratch_puts("home/.gitconfig", text);
}

static void set_home(const char *key, const char *value) {
        git(".", ARG("config"), ARG("--file"), ARG(in_scratch("home/.gitconfig")), ARG(key), ARG(value));
}

static void test_identity(void **state) {
        _cleanup_plan_ Plan *work = NULL, *other = NULL;
        const PlanFile *copy;

        home_config("[user]\n\tname = Me\n\temail = me@home.example\n[includeIf \"gitdir:~/work/\"]\n\tpath = cfg/work\n");
        make_path("home/cfg");
        scratch_puts("home/cfg/work", "[user]\n\temail = me@work.example\n");
        make_path("home/work/r/sub");
        git("home/work/r", ARG("init"), ARG("-q"));
        make_path("home/play");
        git("home/play", ARG("init"), ARG("-q"));

        work = plan_in("home/work/r/sub", false);
        assert_string_equal(value_of(work, "user.name"), "Me");
        assert_string_equal(value_of(work, "user.email"), "me@work.example");
        other = plan_in("home/play", false);
        assert_string_equal(value_of(other, "user.email"), "me@home.example");

        /* First the copy of the whole file, then what is stated here, which wins. */
        assert_string_equal(value_of(work, "include.path"), "/home/appuser/.gitconfig");
        copy = find_file(work, "gitconfig-copy");
        assert_non_null(copy);
        assert_int_equal(copy->size, strlen("[user]\n\tname = Me\n\temail = me@home.example\n[includeIf \"gitdir:~/work/\"]\n\tpath = cfg/work\n"));
        assert_int_equal(work->n_mounts, 1);
        assert_string_equal(work->mounts[0].target, "/home/appuser/.gitconfig");
        assert_int_equal(work->mounts[0].flags, MOUNT_READ_ONLY | MOUNT_RELABEL);
        assert_true(strv_contains(work->guest_env, "GIT_CONFIG_GLOBAL=/run/claude-sandbox/launch/gitconfig"));
}

/* The repository's own values are the guest's to read; they are not made global ones. */
static void test_local_values(void **state) {
        _cleanup_plan_ Plan *p = NULL;

        home_config("[user]\n\tname = Me\n");
        make_path("home/local");
        git("home/local", ARG("init"), ARG("-q"));
        git("home/local", ARG("config"), ARG("user.name"), ARG("Local"));
        git("home/local", ARG("config"), ARG("user.email"), ARG("local@example.org"));
        scratch_puts("home/local/more", "[user]\n\tsigningkey = EVIL\n[commit]\n\tgpgsign = true\n");
        git("home/local", ARG("config"), ARG("include.path"), ARG("../more"));

        p = plan_in("home/local", true);
        assert_string_equal(value_of(p, "user.name"), "Me");
        assert_string_equal(value_of(p, "user.email"), "-");
        assert_string_equal(value_of(p, "user.signingkey"), "-");
        assert_string_equal(value_of(p, "commit.gpgsign"), "-");
}

static void test_odd_values(void **state) {
        static const char *const values[] = {
                "", " ", "  both ends  ", "\"", "\"quoted\"", "\\", "a\\nb", "back\\\\slash\\", "l1\nl2\n", "\ttab\t", "; no comment", "a # b",
                "grüß 日本", "\xff\xfe", "[user]", "name = x", "$(id)", "`id`", "%s%n", "\r", "a\rb", "\x1b[31m", "\b", "'", "true", "a\\",
        };

        make_path("home/odd");
        for (size_t i = 0; i < ELEMENTSOF(values); i++) {
                _cleanup_plan_ Plan *p = NULL;

                home_config("");
                set_home("user.name", values[i]);
                set_home("user.email", values[ELEMENTSOF(values) - 1 - i]);
                p = plan_in("home/odd", false);
                assert_string_equal(value_of(p, "user.name"), values[i]);
                assert_string_equal(value_of(p, "user.email"), values[ELEMENTSOF(values) - 1 - i]);
                assert_string_equal(value_of(p, "user.signingkey"), "-");
        }
}

static void test_signing(void **state) {
        static const struct {
                const char *config;
                bool gpg;
                const char *key, *sign, *format;
        } rows[] = {
                { "[user]\n\tsigningkey = AB12\n[commit]\n\tgpgsign = true\n", true, "AB12", "true", "-" },
                { "[user]\n\tsigningkey = AB12\n[commit]\n\tgpgsign\n", true, "AB12", "true", "-" },
                { "[user]\n\tsigningkey = AB12\n[commit]\n\tgpgsign = yes\n[gpg]\n\tformat = openpgp\n", true, "AB12", "yes", "openpgp" },
                /* Nothing could sign there. */
                { "[user]\n\tsigningkey = AB12\n[commit]\n\tgpgsign = true\n", false, "-", "false", "-" },
                { "[user]\n\tsigningkey = AB12\n", false, "-", "-", "-" },
                { "[user]\n\tsigningkey = ~/.ssh/id\n[commit]\n\tgpgsign = true\n[gpg]\n\tformat = ssh\n", true, "-", "false", "-" },
                { "[user]\n\tsigningkey = x\n[commit]\n\tgpgsign = true\n[gpg]\n\tformat = x509\n", true, "-", "false", "-" },
                { "[commit]\n\tgpgsign = false\n", true, "-", "false", "-" },
        };

        make_path("home/sign");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_plan_ Plan *p = NULL;

                home_config(rows[i].config);
                p = plan_in("home/sign", rows[i].gpg);
                assert_string_equal(value_of(p, "user.signingkey"), rows[i].key);
                assert_string_equal(value_of(p, "commit.gpgsign"), rows[i].sign);
                assert_string_equal(value_of(p, "gpg.format"), rows[i].format);
        }
}

static void test_no_config(void **state) {
        _cleanup_plan_ Plan *p = NULL, *linked = NULL, *planted = NULL;

        make_path("home/none");
        (void) unlink(in_scratch("home/.gitconfig"));
        p = plan_in("home/none", true);
        assert_null(find_file(p, "gitconfig-copy"));
        assert_int_equal(p->n_mounts, 0);
        assert_string_equal(value_of(p, "include.path"), "-");
        assert_string_equal(value_of(p, "user.name"), "-");

        /* Kept with other dotfiles. */
        scratch_puts("home/dotfile", "[user]\n\tname = Linked\n");
        scratch_link("dotfile", "home/.gitconfig");
        linked = plan_in("home/none", false);
        assert_string_equal(value_of(linked, "user.name"), "Linked");
        assert_non_null(find_file(linked, "gitconfig-copy"));

        /* A sandbox had those as its work root. */
        scratch_puts("home/private", "[user]\n\tname = Private\n");
        scratch_link("private", "home/dotfile");
        planted = plan_in_told("home/none", false, "/.gitconfig is reached by way of several links");
        assert_null(find_file(planted, "gitconfig-copy"));
        assert_int_equal(unlink(in_scratch("home/.gitconfig")), 0);
}

static void test_no_git(void **state) {
        _cleanup_plan_ Plan *p = NULL;

        make_path("home/none");
        make_path("empty");
        home_config("[user]\n\tname = Me\n");
        (void) setenv("PATH", in_scratch("empty"), 1);
        p = plan_in("home/none", false);
        (void) setenv("PATH", path_variable, 1);

        assert_non_null(find_file(p, "gitconfig-copy"));
        assert_null(find_file(p, GLOBAL));
        assert_null(p->guest_env);
}

/* What the caller's shell or a hook has set is not asked (ruling G07). */
static void test_git_variables(void **state) {
        static const char *const names[] = { "GIT_DIR", "GIT_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT",
                "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_WORK_TREE", "GIT_AUTHOR_NAME" };
        _cleanup_plan_ Plan *p = NULL;

        make_path("home/vars");
        git("home/vars", ARG("init"), ARG("-q"));
        home_config("[user]\n\tname = Me\n");
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                (void) setenv(names[i], "1", 1);
        (void) setenv("GIT_CONFIG_KEY_0", "user.name", 1);
        p = plan_in("home/vars", false);
        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                (void) unsetenv(names[i]);

        assert_string_equal(value_of(p, "user.name"), "Me");
}

/* Nothing that the repository's configuration names is run. */
static void test_hostile_programs(void **state) {
        static const char *const keys[] = {
                "core.fsmonitor", "core.pager", "pager.config", "core.editor", "core.sshCommand", "core.askPass", "credential.helper", "gpg.program",
                "diff.external", "alias.config", "core.gitProxy", "core.alternateRefsCommand", "uploadpack.packObjectsHook", "trace2.eventTarget",
                "interactive.diffFilter", "filter.x.process", "core.attributesFile",
        };
        _cleanup_plan_ Plan *p = NULL;
        char script[PATH_MAX + 300];

        home_config("[user]\n\tname = Me\n");
        make_path("home/hostile");
        git("home/hostile", ARG("init"), ARG("-q"));
        (void) snprintf(script, sizeof(script), "#!/bin/sh\necho ran >>%s\n", in_scratch("ran"));
        scratch_puts("evil", script);
        assert_int_equal(chmod(in_scratch("evil"), 0755), 0);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                (void) snprintf(script, sizeof(script), "%s%s", streq(keys[i], "alias.config") ? "!" : "", in_scratch("evil"));
                git("home/hostile", ARG("config"), ARG("--file"), ARG(".git/config"), ARG(keys[i]), script);
        }
        make_path("home/hostile/.git/hooks");
        assert_int_equal(symlink(in_scratch("evil"), in_scratch("home/hostile/.git/hooks/post-index-change")), 0);
        (void) unlink(in_scratch("ran"));

        p = plan_in("home/hostile", false);
        assert_string_equal(value_of(p, "user.name"), "Me");
        assert_int_equal(access(in_scratch("ran"), F_OK), -1);
}

/* A file that never ends holds the launch up for seconds, and the message says where to look. */
static void test_hostile_include(void **state) {
        _cleanup_plan_ Plan *p = NULL;
        uint64_t start;
        int r;

        home_config("[user]\n\tname = Me\n");
        make_path("home/fifo");
        git("home/fifo", ARG("init"), ARG("-q"));
        assert_int_equal(mkfifo(in_scratch("home/fifo/never"), 0600), 0);
        git("home/fifo", ARG("config"), ARG("include.path"), ARG("../never"));

        p = stage_plan();
        assert_int_equal(strdup_to(&p->directory, in_scratch("home/fifo")), 0);
        start = now_usec();
        messages_begin();
        r = ask_and_plan(p);
        assert_one_message(messages_end(), "home/fifo. Look at what .git/config includes");
        assert_int_equal(r, -ETIMEDOUT);
        assert_in_range(now_usec() - start, 0, 30 * USEC_PER_SEC);
}

/* A configuration that git cannot read, and one that says too much. */
static void test_hostile_text(void **state) {
        _cleanup_plan_ Plan *broken = NULL, *large = NULL;
        int r;
        FILE *f;

        home_config("[user]\n\tname = Me\n");
        make_path("home/text");
        git("home/text", ARG("init"), ARG("-q"));
        scratch_puts("home/text/.git/config", "[core\n");
        broken = stage_plan();
        assert_int_equal(strdup_to(&broken->directory, in_scratch("home/text")), 0);
        messages_begin();
        r = ask_and_plan(broken);
        assert_one_message(messages_end(), "git could not read its configuration");
        assert_int_equal(r, 0);
        assert_string_equal(value_of(broken, "user.name"), "-");

        f = fopen(in_scratch("home/text/.git/config"), "we");
        assert_non_null(f);
        for (unsigned i = 0; i < 30000; i++)
                (void) fputs("[user]\n\tname = 0123456789\n", f);
        assert_int_equal(fclose(f), 0);
        large = stage_plan();
        assert_int_equal(strdup_to(&large->directory, in_scratch("home/text")), 0);
        messages_begin();
        r = ask_and_plan(large);
        assert_one_message(messages_end(), "Cannot ask git for your identity");
        assert_int_equal(r, -EFBIG);
}

static int setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        stage_make();
        path_variable = strdup(getenv("PATH") ?: "/usr/bin:/bin");
        return path_variable ? 0 : -1;
}

static int teardown(void **state) {
        free(path_variable);
        return scratch_remove(state);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_identity),
                cmocka_unit_test(test_local_values),
                cmocka_unit_test(test_odd_values),
                cmocka_unit_test(test_signing),
                cmocka_unit_test(test_no_config),
                cmocka_unit_test(test_no_git),
                cmocka_unit_test(test_git_variables),
                cmocka_unit_test(test_hostile_programs),
                cmocka_unit_test(test_hostile_include),
                cmocka_unit_test(test_hostile_text),
        };

        if (!git_is_installed()) {
                (void) fprintf(stderr, "git is not installed\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, setup, teardown);
}
