/* SPDX-License-Identifier: MIT */

/* Which mounts lie over host-trusted files, for layouts of work trees and profiles, and what stops a launch. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/guards.h"
#include "messages.h"
#include "scratch.h"
#include "launch-stage.h"

static int program_is_there(const char *command) {
        return system(command) == 0;
}

/* A file with everything above it. */
static void file(const char *path, const char *text) {
        char dir[256];

        (void) snprintf(dir, sizeof(dir), "%s", path);
        *strrchr(dir, '/') = '\0';
        make_path(dir);
        scratch_puts(path, text);
}

static void repository(const char *git_dir) {
        static const char *const parts[] = { "objects/x", "refs/x", "hooks/pre-commit", "HEAD", "config" };
        char path[256];

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                (void) snprintf(path, sizeof(path), "%s/%s", git_dir, parts[i]);
                file(path, "");
        }
}

static Plan *plan(const char *root, const char *directory) {
        Plan *p = stage_plan();

        assert_int_equal(strdup_to(&p->work_root, in_scratch(root)), 0);
        assert_int_equal(strdup_to(&p->directory, in_scratch(directory)), 0);
        return p;
}

static char *guards_of(const Plan *p, const char *below) {
        char *text = NULL;
        size_t n;
        FILE *f = open_memstream(&text, &n);

        assert_non_null(f);
        for (size_t i = 0; i < p->guards.n; i++) {
                const Guard *g = &p->guards.guards[i];
                const char *rest = str_after_prefix(g->target, below);

                if (rest)
                        (void) fprintf(f, "%s %s\n", g->pin ? "pin" : g->read_only ? "ro" : "copy", *rest == '/' ? rest + 1 : rest);
        }
        assert_int_equal(fclose(f), 0);
        return text;
}

static void check(const char *root, const char *directory, const char *expected) {
        _cleanup_plan_ Plan *p = plan(root, directory);
        _cleanup_free_ char *text = NULL;

        assert_int_equal(plan_guards(p), 0);
        text = guards_of(p, p->work_root);
        assert_string_equal(text, expected);

        /* Each guard is a mount, marked as one. */
        assert_int_equal(p->n_mounts, p->guards.n);
        for (size_t i = 0; i < p->n_mounts; i++) {
                assert_string_equal(p->mounts[i].target, p->guards.guards[i].target);
                assert_string_equal(p->mounts[i].source, p->guards.guards[i].source);
                assert_true(p->mounts[i].flags & MOUNT_GUARD);
                assert_int_equal(!!(p->mounts[i].flags & MOUNT_READ_ONLY), p->guards.guards[i].read_only);
        }
}

static void refused(const char *root, const char *says) {
        _cleanup_plan_ Plan *p = plan(root, root);

        messages_begin();
        assert_true(plan_guards(p) < 0);
        assert_one_message(messages_end(), says);
}

static void test_repository(void **state) {
        repository("home/w/.git");
        file("home/w/src/x.c", "");
        check("home/w", "home/w", "pin .git\nro .git/config\ncopy .git/hooks\n");

        file("home/w/.git/config.worktree", "");
        file("home/w/.git/info/attributes", "");
        check("home/w", "home/w/src", "pin .git\nro .git/config\nro .git/config.worktree\ncopy .git/hooks\npin .git/info\n"
                                      "ro .git/info/attributes\n");
}

static void test_no_repository(void **state) {
        make_path("home/w/sub");
        check("home/w", "home/w/sub", "");
}

static void test_submodules(void **state) {
        repository("home/w/.git");
        repository("home/w/.git/modules/libs/a");
        repository("home/w/.git/modules/libs/a/modules/in");
        file("home/w/libs/a/.git", "gitdir: ../../.git/modules/libs/a\n");
        file("home/w/libs/a/in/.git", "gitdir: ../../../.git/modules/libs/a/modules/in\n");
        check("home/w", "home/w",
              "pin .git\nro .git/config\ncopy .git/hooks\n"
              "pin .git/modules\npin .git/modules/libs\npin .git/modules/libs/a\nro .git/modules/libs/a/config\n"
              "copy .git/modules/libs/a/hooks\n"
              "pin .git/modules/libs/a/modules\npin .git/modules/libs/a/modules/in\nro .git/modules/libs/a/modules/in/config\n"
              "copy .git/modules/libs/a/modules/in/hooks\n"
              "pin libs\npin libs/a\nro libs/a/.git\npin libs/a/in\nro libs/a/in/.git\n");
}

/* A clone below, a repository without .git, and one that is a link's target. */
static void test_others(void **state) {
        repository("home/w/a/b/.git");
        repository("home/w/bare.git");
        make_path("home/w/linked");
        assert_int_equal(symlink("../bare.git", in_scratch("home/w/linked/.git")), 0);
        check("home/w", "home/w",
              "pin bare.git\nro bare.git/config\ncopy bare.git/hooks\n"
              "pin a\npin a/b\npin a/b/.git\nro a/b/.git/config\ncopy a/b/.git/hooks\n");
}

static void test_worktrees(void **state) {
        _cleanup_free_ char *inside = NULL, *text = NULL;
        _cleanup_plan_ Plan *p = NULL;

        repository("home/w/.git");
        assert_int_equal(asprintf_to(&inside, "%s/wt/.git\n", in_scratch("home/w")), 0);
        file("home/w/.git/worktrees/near/gitdir", inside);
        file("home/w/.git/worktrees/near/commondir", "../..\n");
        file("home/w/.git/worktrees/relative/gitdir", "../../../sub/.git\n");
        file("home/w/.git/worktrees/far/gitdir", "/elsewhere/.git\n");
        file("home/w/.git/worktrees/odd/gitdir", "/elsewhere/../x\n");
        p = plan("home/w", "home/w");
        assert_int_equal(plan_guards(p), 0);
        text = guards_of(p, in_scratch("home/w/.git/worktrees"));
        assert_non_null(strstr(text, "pin \n"));
        assert_non_null(strstr(text, "copy far\n"));
        assert_non_null(strstr(text, "copy odd\n"));
        assert_non_null(strstr(text, "pin near\n"));
        assert_non_null(strstr(text, "ro near/gitdir\n"));
        assert_non_null(strstr(text, "ro relative/gitdir\n"));
        assert_non_null(strstr(text, "ro near/commondir\n"));

        assert_int_equal(p->n_trees, 3);
        for (size_t i = 0; i < p->n_trees; i++)
                assert_int_equal(p->trees[i].locked, !str_has_suffix(p->trees[i].source, "/hooks"));
}

/* The submodules of a worktree, and what its own configuration names, are the guest's to reach like the worktree itself. Of what looks
 * like a repository in those of another one there is a copy. */
static void test_worktree_modules(void **state) {
        repository("home/w/.git");
        file("home/w/.git/worktrees/near/HEAD", "");
        file("home/w/.git/worktrees/near/commondir", "../..\n");
        file("home/w/.git/worktrees/near/gitdir", "../../../wt/.git\n");
        file("home/w/.git/worktrees/near/config.worktree", "[core]\n\thooksPath = hk\n");
        repository("home/w/.git/worktrees/near/modules/a/s");
        repository("home/w/bare.git");
        file("home/w/bare.git/worktrees/far/HEAD", "");
        file("home/w/bare.git/worktrees/far/commondir", "../..\n");
        file("home/w/bare.git/worktrees/far/gitdir", "/elsewhere/.git\n");
        repository("home/w/bare.git/worktrees/far/modules/s");
        file("home/w/wt/hk/pre-commit", "");
        check("home/w", "home/w",
              "pin .git\nro .git/config\ncopy .git/hooks\npin .git/worktrees\npin .git/worktrees/near\n"
              "ro .git/worktrees/near/config.worktree\nro .git/worktrees/near/commondir\nro .git/worktrees/near/gitdir\n"
              "pin wt\ncopy wt/hk\n"
              "pin .git/worktrees/near/modules\npin .git/worktrees/near/modules/a\npin .git/worktrees/near/modules/a/s\n"
              "ro .git/worktrees/near/modules/a/s/config\ncopy .git/worktrees/near/modules/a/s/hooks\n"
              "pin bare.git\nro bare.git/config\ncopy bare.git/hooks\npin bare.git/worktrees\ncopy bare.git/worktrees/far\n");
}

/* Relative hooks are those of each work tree: of a worktree, of a submodule, and a bare repository has its own. */
static void test_hooks_of_work_trees(void **state) {
        repository("home/w/.git");
        scratch_puts("home/w/.git/config", "[core]\n\thooksPath = hk\n");
        file("home/w/.git/worktrees/near/gitdir", "../../../wt/.git\n");
        repository("home/w/.git/modules/s");
        scratch_puts("home/w/.git/modules/s/config", "[core]\n\tworktree = ../../../sub\n\thooksPath = shk\n");
        repository("home/w/bare.git");
        scratch_puts("home/w/bare.git/config", "[core]\n\thooksPath = bhk\n");
        file("home/w/hk/x", "");
        file("home/w/wt/hk/x", "");
        file("home/w/sub/shk/x", "");
        file("home/w/bare.git/bhk/x", "");
        check("home/w", "home/w",
              "pin .git\nro .git/config\ncopy .git/hooks\npin .git/worktrees\npin .git/worktrees/near\nro .git/worktrees/near/gitdir\n"
              "pin wt\ncopy wt/hk\ncopy hk\n"
              "pin .git/modules\npin .git/modules/s\nro .git/modules/s/config\ncopy .git/modules/s/hooks\npin sub\ncopy sub/shk\n"
              "pin bare.git\nro bare.git/config\ncopy bare.git/hooks\ncopy bare.git/bhk\n");
}

/* A linked worktree: the common directory lies outside. */
static void test_common(void **state) {
        _cleanup_free_ char *pointer = NULL, *text = NULL, *own = NULL;
        _cleanup_plan_ Plan *p = NULL;

        repository("home/r/.git");
        assert_int_equal(asprintf_to(&pointer, "gitdir: %s/worktrees/wt\n", in_scratch("home/r/.git")), 0);
        file("home/wt/.git", pointer);
        assert_int_equal(asprintf_to(&own, "%s/.git\n", in_scratch("home/wt")), 0);
        file("home/r/.git/worktrees/wt/gitdir", own);
        file("home/r/.git/worktrees/other/gitdir", "/elsewhere/.git\n");

        p = plan("home/wt", "home/wt");
        assert_int_equal(strdup_to(&p->git_common, in_scratch("home/r/.git")), 0);
        assert_int_equal(plan_guards(p), 0);
        text = guards_of(p, p->git_common);
        assert_non_null(str_after_prefix(text, "ro config\ncopy hooks\npin worktrees\n"));
        assert_non_null(strstr(text, "copy worktrees/other\n"));
        assert_non_null(strstr(text, "ro worktrees/wt/gitdir\n"));
        text = (free(text), guards_of(p, p->work_root));
        assert_string_equal(text, "ro .git\n");
}

static void test_claude(void **state) {
        file("home/w/.claude/settings.local.json", "{}");
        file("home/w/a/b/.claude/settings.local.json", "{}");
        file("home/w/a/.claude/settings.local.json", "{}");
        check("home/w", "home/w/a/b", "pin .claude\ncopy .claude/settings.local.json\npin a\npin a/b\npin a/b/.claude\n"
                                      "copy a/b/.claude/settings.local.json\n");
}

/* What the configuration names by path. */
static void test_named(void **state) {
        _cleanup_plan_ Plan *p = NULL;
        _cleanup_free_ char *text = NULL;
        char config[1024];

        repository("home/w/.git");
        (void) snprintf(config, sizeof(config),
                        "[include]\n\tpath = ../.gitconfig\n\tpath = /etc/elsewhere\n\tpath = more\n\tpath = ~%s/w/cfg/c\n"
                        "[includeIf \"gitdir:~/\"]\n\tpath = ~/w/cfg/b\n"
                        "[core]\n\thooksPath = .husky/_\n\tattributesFile = attrs\n", getpwuid(geteuid())->pw_name);
        scratch_puts("home/w/.git/config", config);
        file("home/w/cfg/c", "");
        file("home/w/.gitconfig", "[include]\n\tpath = cfg/../cfg/a\n");
        file("home/w/cfg/a", "[core]\n\thooksPath = hooks\n");
        file("home/w/cfg/b", "");
        file("home/w/attrs", "");
        file("home/w/.husky/_/pre-commit", "");
        file("home/w/.git/more", "");
        p = plan("home/w", "home/w");
        assert_int_equal(plan_guards(p), 0);
        text = guards_of(p, p->work_root);
        assert_string_equal(text, "pin .git\nro .git/config\ncopy .git/hooks\nro .gitconfig\npin cfg\nro cfg/a\nro .git/more\nro cfg/c\nro cfg/b\n"
                                  "pin .husky\ncopy .husky/_\nro attrs\n");
        /* Also what is not there yet. */
        assert_true(strv_contains(p->trusted_paths, in_scratch("home/w/hooks")));
        assert_true(strv_contains(p->trusted_paths, in_scratch("home/w/.husky/_")));
        assert_false(strv_contains(p->trusted_paths, "/etc/elsewhere"));
}

/* Programs of the work tree in git's command lines: told, but not kept from the agent, and never in the way of a guard. */
static void test_programs(void **state) {
        static const char *const named[] = { "tools/clean", "b/smudge", "wt/tools/clean", "d/conv", "fs/monitor", "al/ias", "x/merge", "c/both" };
        _cleanup_plan_ Plan *p = NULL, *many = NULL;
        _cleanup_free_ char *text = NULL;
        char config[8192];
        size_t n = 0;

        repository("home/w/.git");
        file("home/w/.git/worktrees/near/gitdir", "../../../wt/.git\n");
        (void) snprintf(config, sizeof(config),
                        "[filter \"f\"]\n\tclean = ./tools/clean --quiet\n\tsmudge = sh -c 'exec \\\"%s\\\"'\n\tprocess = /usr/bin/env\n"
                        "[diff \"d\"]\n\ttextconv = d/conv\n[core]\n\tfsmonitor = fs/monitor\n\tpager = less\n\tsshCommand = ../elsewhere/ssh\n"
                        "[alias]\n\tx = !al/ias; true\n[merge \"m\"]\n\tdriver = (x/merge %%A)\n"
                        "[gpg]\n\tprogram = c/both\n[include]\n\tpath = ../c/both\n", in_scratch("home/w/b/smudge"));
        scratch_puts("home/w/.git/config", config);
        file("home/w/c/both", "");
        file("home/w/tools/clean", "");
        p = plan("home/w", "home/w");
        assert_int_equal(plan_guards(p), 0);
        text = guards_of(p, p->work_root);
        assert_string_equal(text, "pin .git\nro .git/config\ncopy .git/hooks\npin .git/worktrees\npin .git/worktrees/near\n"
                                  "ro .git/worktrees/near/gitdir\npin c\nro c/both\n");
        for (size_t i = 0; i < ELEMENTSOF(named); i++) {
                (void) snprintf(config, sizeof(config), "home/w/%s", named[i]);
                if (!strv_contains(p->named_programs, in_scratch(config)))
                        fail_msg("%s is not noted", named[i]);
        }
        STRV_FOREACH(path, p->named_programs)
                assert_true(path_is_within(*path, p->work_root));

        repository("home/w2/.git");
        n = (size_t) snprintf(config, sizeof(config), "[alias]\n\tx = !");
        for (unsigned i = 0; i <= 1000; i++)
                n += (size_t) snprintf(config + n, sizeof(config) - n, " a/%u", i);
        scratch_puts("home/w2/.git/config", config);
        many = plan("home/w2", "home/w2");
        messages_begin();
        assert_int_equal(plan_guards(many), -E2BIG);
        assert_one_message(messages_end(), "more than 1000 programs in the work tree");
}

static void test_include_loop(void **state) {
        repository("home/w/.git");
        scratch_puts("home/w/.git/config", "[include]\n\tpath = ../a\n");
        file("home/w/a", "[include]\n\tpath = b\n");
        file("home/w/b", "[include]\n\tpath = a\n");
        check("home/w", "home/w", "pin .git\nro .git/config\ncopy .git/hooks\nro a\nro b\n");
}

static void test_refusals(void **state) {
        repository("home/config/.git");
        assert_int_equal(unlink(in_scratch("home/config/.git/config")), 0);
        assert_int_equal(symlink("/etc/passwd", in_scratch("home/config/.git/config")), 0);
        refused("home/config", ".git/config is, or lies behind, a symbolic link");

        repository("home/hooks/.git");
        assert_int_equal(rename(in_scratch("home/hooks/.git/hooks"), in_scratch("home/hooks/x")), 0);
        assert_int_equal(symlink("../x", in_scratch("home/hooks/.git/hooks")), 0);
        refused("home/hooks", ".git/hooks is, or lies behind, a symbolic link");

        repository("home/info/.git");
        file("home/info/y/attributes", "");
        assert_int_equal(symlink("../y", in_scratch("home/info/.git/info")), 0);
        refused("home/info", ".git/info/attributes is, or lies behind, a symbolic link");

        repository("home/modules/.git");
        make_path("home/modules/x");
        assert_int_equal(symlink("../x", in_scratch("home/modules/.git/modules")), 0);
        refused("home/modules", ".git/modules is, or lies behind, a symbolic link");

        repository("home/hard/.git");
        assert_int_equal(link(in_scratch("home/hard/.git/config"), in_scratch("home/hard/z")), 0);
        refused("home/hard", ".git/config has another name");

        repository("home/kind/.git");
        assert_int_equal(unlink(in_scratch("home/kind/.git/config")), 0);
        scratch_mkdir("home/kind/.git/config");
        refused("home/kind", ".git/config is no file");

        repository("home/latin\xe9/.git");
        refused("home/latin\xe9", "is not UTF-8");

        make_path("home/link/real");
        file("home/link/real/settings.local.json", "{}");
        assert_int_equal(symlink("real", in_scratch("home/link/.claude")), 0);
        refused("home/link", ".claude/settings.local.json is, or lies behind, a symbolic link");

        repository("home/path/.git");
        scratch_puts("home/path/.git/config", "[core]\n\thooksPath = h\n");
        assert_int_equal(symlink("/etc", in_scratch("home/path/h")), 0);
        refused("home/path", "/h is, or lies behind, a symbolic link");

        repository("home/broken/.git");
        scratch_puts("home/broken/.git/config", "[core\n\thooksPath = h\n");
        refused("home/broken", "is no configuration that git could read");

        /* Where C's strings end, git reads on. */
        repository("home/nul/.git");
        scratch_write("home/nul/.git/config", "\0[core]\n\thooksPath = h\n", sizeof("\0[core]\n\thooksPath = h\n") - 1);
        refused("home/nul", "is no configuration that git could read");
}

static const PlanFile *copy_of_settings(const Plan *p) {
        for (size_t i = 0; i < p->guards.n; i++)
                if (str_has_suffix(p->guards.guards[i].target, "/settings.json"))
                        for (size_t k = 0; k < p->n_files; k++)
                                if (streq(path_last(p->files[k].name), path_last(p->guards.guards[i].source)))
                                        return &p->files[k];

        fail();
        return NULL;
}

static void test_profile(void **state) {
        static const char settings[] = "\xef\xbb\xbf{\n  \"permissions\": { \"deny\": [\"Bash(sudo:*)\", \"Bash(rm:*)\"] } ,\"n\":1.50\n}\n";
        _cleanup_free_ char *empty = NULL, *full = NULL;
        _cleanup_plan_ Plan *none = NULL, *p = NULL;

        make_path("home/w");
        none = plan("home/w", "home/w");
        assert_int_equal(plan_guards(none), 0);
        empty = guards_of(none, GUEST_CLAUDE_DIR);
        assert_string_equal(empty, "copy settings.json\nro .env\n");
        assert_int_equal(none->n_creations, 2);
        assert_string_equal(copy_of_settings(none)->data, "{}\n");
        /* A plan changes nothing. */
        assert_int_equal(faccessat(stage.profile.fd, ".env", F_OK, 0), -1);

        scratch_write("home/.claude-profiles/work/settings.json", settings, strlen(settings));
        scratch_puts("home/.claude-profiles/work/.env", "A=b\n");
        scratch_puts("home/.claude-profiles/work/.sandbox", "");
        scratch_puts("home/.claude-profiles/work/statusline.sh", "");
        scratch_puts("home/.claude-profiles/work/remote-settings.json", "{}");
        scratch_puts("home/.claude-profiles/work/daemon.json", "{}");
        make_path("home/.claude-profiles/work/jobs");
        make_path("home/.claude-profiles/work/chrome");
        make_path("home/.claude-profiles/work/hooks");
        make_path("home/.claude-profiles/work/plugins");
        make_path("home/.claude-profiles/work/shell-snapshots");
        make_path("home/.claude-profiles/work/skills");
        p = plan("home/w", "home/w");
        assert_int_equal(plan_guards(p), 0);
        full = guards_of(p, GUEST_CLAUDE_DIR);
        assert_string_equal(full, "copy settings.json\ncopy remote-settings.json\nro .env\nro .sandbox\ncopy chrome\n"
                                  "copy shell-snapshots\nro hooks\nro plugins\nro statusline.sh\nro daemon.json\ncopy jobs\n");
        assert_int_equal(p->n_creations, 0);
        /* Only the rule and the byte-order mark are gone. */
        assert_string_equal(copy_of_settings(p)->data, "{\n  \"permissions\": { \"deny\": [\"Bash(rm:*)\"] } ,\"n\":1.50\n}\n");
}

static void test_profile_broken_settings(void **state) {
        static const char *const broken[] = { "", "{\"a\":1,}", "// remark\n{}" };

        make_path("home/w");
        scratch_puts("home/.claude-profiles/work/.env", "");
        for (size_t i = 0; i < ELEMENTSOF(broken); i++) {
                _cleanup_plan_ Plan *p = plan("home/w", "home/w");

                scratch_puts("home/.claude-profiles/work/settings.json", broken[i]);
                messages_begin();
                assert_int_equal(plan_guards(p), 0);
                assert_one_message(messages_end(), "settings.json: line 1, column ");
                assert_string_equal(copy_of_settings(p)->data, broken[i]);
        }
}

static void test_profile_links(void **state) {
        _cleanup_free_ char *text = NULL;
        _cleanup_plan_ Plan *p = NULL;

        make_path("home/w");
        file("home/secret", "secret");
        assert_int_equal(symlink("../../secret", in_scratch("home/.claude-profiles/work/settings.json")), 0);
        assert_int_equal(symlink("/nowhere", in_scratch("home/.claude-profiles/work/.sandbox")), 0);
        assert_int_equal(symlink("../../w", in_scratch("home/.claude-profiles/work/chrome")), 0);
        assert_int_equal(symlink("../../.claude/hooks", in_scratch("home/.claude-profiles/work/hooks")), 0);
        p = plan("home/w", "home/w");
        assert_int_equal(plan_guards(p), 0);
        text = guards_of(p, GUEST_CLAUDE_DIR);
        assert_string_equal(text, "copy settings.json\nro .env\nro .sandbox\ncopy chrome\n");
        assert_string_equal(copy_of_settings(p)->data, "{}\n");
        assert_int_equal(p->n_creations, 4);
        assert_string_equal(p->creations[0].link, "../../secret");

        assert_int_equal(symlink("/dev/null", in_scratch("home/.claude-profiles/work/.env")), 0);
        refused("home/w", ".env is, or lies behind, a symbolic link");
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, stage_setup, stage_teardown)
        const struct CMUnitTest tests[] = {
                TEST(test_repository), TEST(test_no_repository), TEST(test_submodules), TEST(test_others),
                TEST(test_worktrees), TEST(test_worktree_modules), TEST(test_hooks_of_work_trees), TEST(test_common), TEST(test_claude),
                TEST(test_named), TEST(test_programs), TEST(test_include_loop),
                TEST(test_refusals), TEST(test_profile), TEST(test_profile_broken_settings), TEST(test_profile_links),
        };

        if (!program_is_there("git --version >/dev/null 2>&1"))
                return 77;
        return cmocka_run_group_tests(tests, NULL, NULL);
}
