/* SPDX-License-Identifier: MIT */

/* What was there before, what a session does, and which lines that gives: rows of three. Then how they are printed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "scratch.h"
#include "shared/host-trusted.h"
#include "trust-stage.h"

typedef struct Row {
        const char *before, *during, *expected;
} Row;

static const Row profile_rows[] = {
        /* Nothing, and what claude writes all the time. */
        { "", "", "" },
        { "", "mkdir -p profile/projects/x profile/todos; echo x >profile/projects/x/s.jsonl; echo x >profile/history.jsonl", "" },
        { "echo '{}' >profile/settings.json", "touch profile/settings.json", "" },
        { "echo '{}' >profile/settings.json", "echo '{}' >profile/new; mv profile/new profile/settings.json", "" },

        { "echo '{}' >profile/settings.json", "echo '{ }' >profile/settings.json", "changed profile: settings.json\n" },
        { "", "echo '{}' >profile/settings.json", "new profile: settings.json\n" },
        { "echo A=1 >profile/.env", "rm profile/.env", "removed profile: .env\n" },
        { "echo A=1 >profile/.env", "ln -sf other profile/.env", "changed profile: .env\n" },
        { "ln -s a profile/statusline.sh", "ln -sf b profile/statusline.sh", "changed profile: statusline.sh\n" },
        { "ln -s a profile/statusline.sh", "touch -h profile/statusline.sh", "" },
        { ":>profile/.sandbox", "rm profile/.sandbox", "removed profile: .sandbox\n" },
        { "", "mkdir -p profile/hooks; echo x >profile/hooks/run", "new profile: hooks/run\n" },
        { "mkdir -p profile/hooks; echo x >profile/hooks/run", "chmod +x profile/hooks/run", "changed profile: hooks/run\n" },
        { "mkdir -p profile/hooks; echo x >profile/hooks/run; chmod 755 profile/hooks/run", "chmod 700 profile/hooks/run", "" },
        { "mkdir -p profile/skills/a", "mkdir -p profile/skills/a/b/c; echo x >profile/skills/a/b/c/SKILL.md",
                        "new profile: skills/a/b/c/SKILL.md\n" },
        { "mkdir -p profile/skills/a; echo x >profile/skills/a/S", "mv profile/skills/a profile/skills/b",
                        "removed profile: skills/a/S\nnew profile: skills/b/S\n" },
        { "mkdir -p profile/skills/a; echo x >profile/skills/a/S", "rm -r profile/skills; ln -s /etc profile/skills",
                        "new profile: skills\nremoved profile: skills/a/S\n" },
        { "mkdir -p profile/skills/a", "mkdir -p profile/skills/b", "" },
        { "", "mkdir -p profile/skills/s/.git; echo x >profile/skills/s/.git/config", "new profile: skills/s/.git\n" },
        { "", "mkdir -p profile/plugins/store profile/plugins/cache/store; echo x >profile/plugins/store/a.json; "
                        "echo x >profile/plugins/cache/store/run", "new profile: plugins/cache/store/run\n" },
        { "", "mkfifo profile/CLAUDE.md", "new profile: CLAUDE.md\n" },
        { "mkfifo profile/CLAUDE.md", "rm profile/CLAUDE.md; echo x >profile/CLAUDE.md", "changed profile: CLAUDE.md\n" },
        { "echo x >profile/CLAUDE.md", "rm profile/CLAUDE.md; mkfifo profile/CLAUDE.md", "changed profile: CLAUDE.md\n" },
        { "mkdir profile/agents; echo x >profile/agents/a", "chmod 000 profile/agents", "unseen profile: agents\n" },
        { "mkdir profile/agents; chmod 000 profile/agents", "", "" },
        { "mkdir profile/agents; i=0; while [ $i -lt 3000 ]; do :>profile/agents/$i; i=$((i+1)); done",
                        "i=3000; while [ $i -lt 4400 ]; do :>profile/agents/$i; i=$((i+1)); done; rm profile/agents/3",
                        NULL },

        /* claude's own configuration: what it says. */
        { "echo '{\"numStartups\":1}' >profile/.claude.json", "echo '{\"numStartups\":2}' >profile/.claude.json", "" },
        { "", "echo '{\"mcpServers\":{\"evil\":{\"command\":\"secret\"}}}' >profile/.claude.json",
                        "new profile: .claude.json: MCP server evil\n" },
        { "echo '{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}' >profile/.claude.json",
                        "echo '{\"mcpServers\":{\"a\":{\"command\":\"y\"}}}' >profile/.claude.json",
                        "changed profile: .claude.json: MCP server a\n" },
        { "echo '{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}' >profile/.claude.json", "echo '{}' >profile/.claude.json", "" },
        { "", "echo '{' >profile/.claude.json", "new profile: .claude.json\n" },
        { "", "ln -s /etc/passwd profile/.claude.json", "new profile: .claude.json\n" },
        { "", "mkfifo profile/.claude.json", "new profile: .claude.json\n" },
        { "", "echo '{}' >profile/.config.json", "new profile: .config.json: in place of .claude.json\n" },
        { "", "echo '{\"remoteControlAtStartup\":true}' >profile/.claude.json", "new profile: .claude.json: remote control at startup\n" },
        { "", "echo '{\"remoteControlAtStartup\":false}' >profile/.claude.json", "" },
        /* What claude writes there would land elsewhere. */
        { "mkdir -p profile/projects profile/debug; ln -s a profile/debug/latest; ln -s a profile/todos",
                        "ln -s /elsewhere profile/projects/-w; ln -s /elsewhere profile/history.jsonl; ln -sfn b profile/debug/latest",
                        "new profile: history.jsonl\nnew profile: projects/-w\n" },
        { "ln -s a profile/todos", "ln -sfn b profile/todos", "changed profile: todos\n" },
        { "", "echo '{}' >profile/daemon.json", "new profile: daemon.json\n" },
        { "", "mkdir -p profile/jobs/x; echo '{}' >profile/jobs/x/state.json", "new profile: jobs/x/state.json\n" },
        { "", "echo '{\"env\":{\"LD_PRELOAD\":\"/x\"}}' >profile/.config.json",
                        "new profile: .config.json: in place of .claude.json\nnew profile: .config.json: variable LD_PRELOAD\n" },
};

static const Row work_rows[] = {
        { "", "echo x >work/a.c; mkdir -p work/src; echo y >work/src/Makefile; rm -rf work/sub/*", "" },
        { "", "echo x >work/.envrc", "new .envrc\n" },
        { "echo x >work/.envrc", "echo y >work/.envrc", "changed .envrc\n" },
        { "echo x >work/.envrc", "rm work/.envrc; ln -s /dev/zero work/.envrc", "changed .envrc\n" },
        { "", "mkdir -p work/a/b; echo x >work/a/b/.envrc", "new a/b/.envrc\n" },
        { "mkdir work/a; echo x >work/a/.envrc", "mv work/a work/b", "removed a/.envrc\nnew b/.envrc\n" },
        { "", "mkdir work/.vscode; echo x >work/.vscode/tasks.json; echo x >work/.vscode/notes.txt", "new .vscode/tasks.json\n" },
        { "mkdir work/.vscode", "rmdir work/.vscode; ln -s elsewhere work/.vscode",
                        "new .vscode\n" },
        { "ln -s a work/.vscode", "ln -sfn b work/.vscode", "changed .vscode\n" },
        { "", "mkdir -p work/.idea/x; echo x >work/.idea/x/y.xml", "new .idea/x/y.xml\n" },
        { "", "mkdir work/.husky; echo x >work/.husky/pre-commit", "new .husky/pre-commit\n" },
        { "", "echo x >work/.pre-commit-config.yaml; echo x >work/.gitattributes; echo x >work/.gitmodules",
                        "new .gitattributes\nnew .gitmodules\nnew .pre-commit-config.yaml\n" },
        { "", "mkdir work/.devcontainer; echo x >work/.devcontainer/devcontainer.json; echo x >work/.devcontainer.json",
                        "new .devcontainer/devcontainer.json\nnew .devcontainer.json\n" },
        { "", "echo x >work/.mcp.json", "new .mcp.json\n" },
        { "", "mkdir -p work/.claude/hooks; echo x >work/.claude/settings.json; echo x >work/.claude/hooks/h",
                        "new .claude/hooks/h\nnew .claude/settings.json\n" },
        { "", "mkdir -p work/.claude work/sub/.claude; echo x >work/.claude/settings.local.json; "
                        "echo y >work/sub/.claude/settings.local.json",
                        "new .claude/settings.local.json\nnew sub/.claude/settings.local.json\n" },
        /* A work tree of claude's own is a work tree. */
        { "", "mkdir -p work/.claude/worktrees/w/src work/.claude/worktrees/w/.claude; echo x >work/.claude/worktrees/w/src/a.c; "
                        "echo x >work/.claude/worktrees/w/.claude/settings.json; echo gitdir: x >work/.claude/worktrees/w/.git",
                        "new .claude/worktrees/w/.git\nnew .claude/worktrees/w/.claude/settings.json\n" },
        { "", "chmod 000 work/src", "unseen src\n" },
        { "chmod 000 work/src", "", "" },

        /* Names that would drive a terminal, or pretend to be two lines. */
        { "", "d=$(printf 'work/\\033[2J\\nnew x'); mkdir \"$d\"; echo x >\"$d/.envrc\"", "new \\x1b[2J\\x0anew x/.envrc\n" },
        { "", "d=$(printf 'work/\\377'); mkdir \"$d\"; echo x >\"$d/.envrc\"", "new \\xff/.envrc\n" },

        /* What the user named. */
        { "", "echo x >work/deploy.sh; mkdir work/ops; echo x >work/ops/a; echo x >profile/x", "new deploy.sh\nnew ops/a\n" },

        /* Large files: by their ctime, which no touch(1) sets back. */
        { "head -c 300000 /dev/zero >work/.envrc; touch -d 2020-01-01 work/.envrc",
                        "printf x | dd of=work/.envrc conv=notrunc status=none; touch -d 2020-01-01 work/.envrc", "changed .envrc\n" },
        { "head -c 300000 /dev/zero >work/.envrc", "", "" },
};

static const Row git_rows[] = {
        { "", "mkdir -p work/new/.git/hooks; echo x >work/new/.git/config; echo x >work/new/.git/hooks/pre-commit", "new new/.git\n" },
        { "", "mkdir work/new; echo gitdir: /x >work/new/.git", "new new/.git\n" },
        { "mkdir work/s; echo gitdir: /x >work/s/.git", "echo gitdir: /y >work/s/.git", "changed s/.git\n" },
        { "mkdir work/s; echo gitdir: /x >work/s/.git", "rm work/s/.git; mkdir work/s/.git; echo x >work/s/.git/config",
                        "changed s/.git\n" },
        { "", "mkdir -p work/b/objects work/b/refs; echo x >work/b/HEAD; echo x >work/b/config", "new b\n" },
        { "mkdir -p work/b/objects work/b/refs; echo x >work/b/HEAD", "echo x >work/b/config; mkdir work/b/hooks; echo x >work/b/hooks/h",
                        "new b/config\nnew b/hooks/h\n" },
        { "", "mkdir work/b; echo x >work/b/HEAD; echo ../src >work/b/commondir", "new b\n" },
        { "", "mkdir -p work/objects work/refs; echo x >work/HEAD", "new .\n" },
        { "mkdir work/.git; echo x >work/.git/config", "echo y >work/.git/config", "changed .git/config\n" },
        { "mkdir -p work/n/.git; echo x >work/n/.git/config", "echo y >work/n/.git/config; mkdir work/n/.git/info; "
                        "echo x >work/n/.git/info/attributes", "changed n/.git/config\nnew n/.git/info/attributes\n" },
        { "mkdir -p work/.git/hooks; echo x >work/.git/hooks/pre-commit", "rm -r work/.git", "removed .git\n" },
        { "mkdir -p work/.git", "echo x >work/.git/index; mkdir -p work/.git/refs/heads work/.git/objects/ab; echo x >work/.git/HEAD; "
                        "mkdir work/.git/rebase-merge; echo x >work/.git/rebase-merge/done", "" },
        { "mkdir -p work/.git", "mkdir work/.git/rebase-merge; echo exec x >work/.git/rebase-merge/git-rebase-todo",
                        "new .git/rebase-merge/git-rebase-todo\n" },
        { "", "echo x >common/config; mkdir common/info; echo x >common/info/attributes",
                        "new @/common/config\nnew @/common/info/attributes\n" },
        { "mkdir -p common/worktrees/w; echo x >common/worktrees/w/gitdir", "echo y >common/worktrees/w/gitdir",
                        "changed @/common/worktrees/w/gitdir\n" },
        { "mkdir -p common/worktrees/w; echo x >common/worktrees/w/gitdir", "rm -r common/worktrees/w",
                        "removed @/common/worktrees/w/gitdir\n" },
        { "mkdir -p common/worktrees/w/rebase-merge; echo pick >common/worktrees/w/rebase-merge/git-rebase-todo",
                        "echo exec x >common/worktrees/w/rebase-merge/git-rebase-todo",
                        "changed @/common/worktrees/w/rebase-merge/git-rebase-todo\n" },
        /* Where git would look for the repository of a submodule. */
        { "mkdir work/.git", "mkdir -p work/.git/modules/a/s/objects work/.git/modules/a/s/refs; echo x >work/.git/modules/a/s/HEAD",
                        "new .git/modules/a/s\n" },
        { "mkdir work/.git", "ln -s ../x work/.git/modules", "new .git/modules\n" },
        { "mkdir -p work/.git/modules/a", "ln -s ../../../x work/.git/modules/a/s", "new .git/modules/a/s\n" },
        { "mkdir -p work/.git/modules/a/objects work/.git/modules/a/refs", "echo x >work/.git/modules/a/HEAD", "new .git/modules/a\n" },
        { "mkdir -p work/.git/modules/a/objects work/.git/modules/a/refs; echo x >work/.git/modules/a/HEAD",
                        "mkdir -p work/.git/modules/a/modules/b; echo x >work/.git/modules/a/modules/b/HEAD; "
                        "echo x >work/.git/modules/a/modules/b/commondir", "new .git/modules/a/modules/b\n" },
        { "mkdir -p common/worktrees/w", "mkdir -p common/worktrees/w/modules/s; echo x >common/worktrees/w/modules/s/HEAD; "
                        "echo x >common/worktrees/w/modules/s/commondir", "new @/common/worktrees/w/modules/s\n" },
        { "mkdir -p common/worktrees", "mkdir common/worktrees/n; echo x >common/worktrees/n/gitdir", "" },
        { "mkdir -p work/tools/hooks", "echo x >work/tools/hooks/pre-push", "new tools/hooks/pre-push\n" },
};

static char *run(const Row *row) {
        _cleanup_trust_snapshot_ TrustSnapshot before = { 0 }, after = { 0 };
        _cleanup_trust_changes_ TrustChanges changes = { 0 };
        _cleanup_trust_scope_ TrustScope scope = stage_scope();
        _cleanup_free_ char *begin = NULL;

        assert_true(asprintf_to(&begin, STAGE_NEW "%s", row->before) >= 0);
        shell(begin);
        assert_int_equal(trust_snapshot_take(&scope, NULL, NULL, &before), 0);
        if (*row->during)
                shell(row->during);
        assert_int_equal(trust_snapshot_take(&scope, NULL, &before, &after), 0);
        assert_int_equal(trust_changes_find(&scope, &before, &after, &changes), 0);
        return changes_to_text(&changes);
}

/* Root reads everything. */
static bool wants_permissions(const Row *row) {
        return strstr(row->before, "chmod 000") || strstr(row->during, "chmod 000");
}

static void check_rows(const Row *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                _cleanup_free_ char *text = NULL, *expected = NULL;
                const char *at;

                if (geteuid() == 0 && wants_permissions(&rows[i]))
                        continue;
                text = run(&rows[i]);
                if (!rows[i].expected) {
                        /* Too many to say which: but that a part was left out is said, and nothing is called removed. */
                        assert_non_null(strstr(text, "unseen profile: agents\n"));
                        assert_null(strstr(text, "removed"));
                        continue;
                }
                expected = strdup("");
                for (const char *p = rows[i].expected; *p; p = at + (*at == '@')) {
                        _cleanup_free_ char *old = TAKE_PTR(expected);

                        at = strchrnul(p, '@');
                        assert_true(asprintf_to(&expected, "%s%.*s%s", old, (int) (at - p), p, *at ? scratch : "") >= 0);
                }
                if (!streq(text, expected))
                        fail_msg("before: %s\nduring: %s\nexpected:\n%sfound:\n%s", rows[i].before, rows[i].during, expected, text);
        }
}

static void test_profile(void **state) {
        check_rows(profile_rows, ELEMENTSOF(profile_rows));
}

static void test_work(void **state) {
        check_rows(work_rows, ELEMENTSOF(work_rows));
}

static void test_git(void **state) {
        check_rows(git_rows, ELEMENTSOF(git_rows));
}

/* Whatever stands in the table is reported when it appears, in a directory that was there and in one that was not. */
static void test_every_thing(void **state) {
        static const char *const places[] = {
                [TRUST_PROFILE] = "profile", [TRUST_GIT] = "work/.git", [TRUST_WORK] = "work/sub", [TRUST_TREE] = "work/deep/er",
        };

        for (size_t i = 0; i < n_trusted_things; i++) {
                const TrustedThing *t = &trusted_things[i];
                _cleanup_free_ char *during = NULL, *text = NULL;

                if (streq(t->name, "worktrees/…"))
                        continue;
                assert_true(asprintf_to(&during, "p='%s/%s'; mkdir -p \"$(dirname \"$p\")\"; %s", places[t->place], t->name,
                                            t->directory ? "mkdir -p \"$p\"; echo x >\"$p/file\"" : "echo x >\"$p\"") >= 0);
                text = run(&(Row) { "mkdir -p work/.git", during, NULL });
                if (!strstr(text, t->name) || !str_after_prefix(text, "new ") || strchr(text, '\n')[1] != '\0')
                        fail_msg("%s: \"%s\"", during, text);
        }
}

static char *print(const TrustChanges *c, bool colour) {
        char *text = NULL;
        size_t n;
        FILE *f = open_memstream(&text, &n);

        assert_non_null(f);
        trust_changes_print(c, "0123abcd", colour, f);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void test_print(void **state) {
        TrustChange few[] = {
                { TRUST_NEW, 1, "direnv: shell code", (char *) ".envrc" },
                { TRUST_CHANGED, 2, "claude: instructions", (char *) "profile: skills/x/SKILL.md" },
                { TRUST_REMOVED, 3, "claude: instructions", (char *) "profile: CLAUDE.md" },
        };
        TrustChange many[TRUST_LINES_MAX + 7];
        _cleanup_free_ char *none = NULL, *plain = NULL, *colour = NULL, *cut = NULL;

        none = print(&(TrustChanges) { 0 }, true);
        assert_string_equal(none, "");

        plain = print(&(TrustChanges) { .items = few, .n = ELEMENTSOF(few) }, false);
        assert_string_equal(plain,
                        "Changed while the sandbox ran; the host will run or obey it:\n"
                        "  direnv: shell code\n"
                        "    new      .envrc\n"
                        "  claude: instructions\n"
                        "    changed  profile: skills/x/SKILL.md\n"
                        "    removed  profile: CLAUDE.md\n");

        colour = print(&(TrustChanges) { .items = few, .n = 1 }, true);
        assert_string_equal(colour,
                        "\x1b[1mChanged while the sandbox ran; the host will run or obey it:\x1b[0m\n"
                        "  direnv: shell code\n"
                        "    \x1b[33mnew    \x1b[0m  .envrc\n");

        for (size_t i = 0; i < ELEMENTSOF(many); i++)
                many[i] = few[0];
        cut = print(&(TrustChanges) { .items = many, .n = ELEMENTSOF(many) }, false);
        assert_non_null(strstr(cut, "\n    and 7 more\n  For more see: journalctl --user CLAUDE_LAUNCH=0123abcd\n"));
        free(TAKE_PTR(cut));

        /* A flood of one kind leaves room for the others. */
        many[ELEMENTSOF(many) - 3] = few[1];
        many[ELEMENTSOF(many) - 2] = few[2];
        many[ELEMENTSOF(many) - 1] = (TrustChange) { TRUST_NEW, 4, "make: programs", (char *) "Makefile" };
        cut = print(&(TrustChanges) { .items = many, .n = ELEMENTSOF(many) }, false);
        assert_non_null(strstr(cut, "\n    new      .envrc\n    and 7 more\n"
                        "  claude: instructions\n"
                        "    changed  profile: skills/x/SKILL.md\n"
                        "    removed  profile: CLAUDE.md\n"
                        "  make: programs\n"
                        "    new      Makefile\n"
                        "  For more see: "));
}

/* Of a name as long as a guest likes, as much as a line takes. */
static void test_long_name(void **state) {
        _cleanup_free_ char *text = NULL;

        text = run(&(Row) { "", "d=work; for i in 1 2 3 4 5 6; do d=$d/$(head -c 200 /dev/zero | tr '\\0' x); done; mkdir -p $d; "
                        "echo x >$d/.envrc", NULL });
        assert_int_equal(strlen(text), STRLEN("new ") + TRUST_NAME_MAX + STRLEN("…\n"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_profile),
                cmocka_unit_test(test_work),
                cmocka_unit_test(test_git),
                cmocka_unit_test(test_every_thing),
                cmocka_unit_test(test_print),
                cmocka_unit_test(test_long_name),
        };

        return cmocka_run_group_tests(tests, scratch_make, stage_remove);
}
