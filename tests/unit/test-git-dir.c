/* SPDX-License-Identifier: MIT */

/* From .git to what lies behind it: the layouts that git makes, each accepted, and everything that a guest could have planted
 * instead, each refused with a sentence. Skipped (77) where git is not installed. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/git-dir.h"
#include "scratch.h"
#include "launch-stage.h"
#include "git-helper.h"
#include "messages.h"

/* `outside` below the scratch directory, or NULL: all lies inside. */
static void assert_found(const char *root, const char *outside) {
        _cleanup_free_ char *found = NULL;
        int r;

        messages_begin();
        r = git_dir_find(in_scratch(root), &found);
        assert_string_equal(messages_end(), "");
        assert_int_equal(r, 0);
        if (!outside)
                assert_null(found);
        else {
                assert_non_null(found);
                assert_string_equal(found, in_scratch(outside));
        }
}

static void assert_refused(const char *root, const char *why) {
        char *found = NULL;
        const char *text;
        int r;

        messages_begin();
        r = git_dir_find(in_scratch(root), &found);
        text = messages_end();
        if (r >= 0)
                fail_msg("%s is accepted: %s", root, found ?: "all inside");
        assert_null(found);
        assert_one_message(text, why);
}

_printf_(2, 3) static void put(const char *name, const char *format, ...) {
        char text[4096];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        (void) unlink(in_scratch(name));
        scratch_puts(name, text);
}

/* A repository with one commit. */
static void make_repository(const char *name) {
        make_path(name);
        git(name, ARG("init"), ARG("-q"));
        git(name, ARG("commit"), ARG("-q"), ARG("--allow-empty"), ARG("-m"), ARG("x"));
}

/* A directory that git would take for a git directory. */
static void make_fake(const char *name) {
        char path[256];

        (void) snprintf(path, sizeof(path), "%s/objects", name);
        make_path(path);
        (void) snprintf(path, sizeof(path), "%s/refs", name);
        make_path(path);
        (void) snprintf(path, sizeof(path), "%s/HEAD", name);
        put(path, "ref: refs/heads/main\n");
        (void) snprintf(path, sizeof(path), "%s/config", name);
        put(path, "[core]\n\trepositoryformatversion = 0\n");
}

/* The layouts */

static void test_plain(void **state) {
        make_path("none");
        assert_found("none", NULL);
        make_repository("plain");
        assert_found("plain", NULL);

        /* Its own place, said aloud. */
        git("plain", ARG("config"), ARG("core.worktree"), ARG(in_scratch("plain")));
        assert_found("plain", NULL);
        git("plain", ARG("config"), ARG("core.worktree"), ARG(".."));
        assert_found("plain", NULL);
}

static void test_worktree(void **state) {
        make_repository("wt/r");
        git("wt/r", ARG("worktree"), ARG("add"), ARG("-q"), ARG("../a"));
        git("wt/r", ARG("worktree"), ARG("add"), ARG("-q"), ARG("sub/inside"));
        git("wt/r", ARG("worktree"), ARG("add"), ARG("-q"), ARG("-b"), ARG("odd"), ARG("../o \"d,d:\n$x"));
        assert_found("wt/r", NULL);
        assert_found("wt/a", "wt/r/.git");
        assert_found("wt/r/sub/inside", "wt/r/.git");
        assert_found("wt/o \"d,d:\n$x", "wt/r/.git");

        /* The main work tree's core.worktree says nothing about a linked one. */
        git("wt/r", ARG("config"), ARG("core.worktree"), ARG(in_scratch("wt/r")));
        assert_found("wt/a", "wt/r/.git");
        git("wt/r", ARG("config"), ARG("extensions.worktreeConfig"), ARG("false"));
        assert_found("wt/a", "wt/r/.git");

        /* With this it does, and git would obey it. */
        git("wt/r", ARG("config"), ARG("extensions.worktreeConfig"), ARG("true"));
        assert_refused("wt/a", "core.worktree");
        git("wt/r", ARG("config"), ARG("-f"), ARG(".git/config"), ARG("--unset"), ARG("core.worktree"));
        assert_found("wt/a", "wt/r/.git");

        /* Two links away is no worktree. */
        git("wt/a", ARG("config"), ARG("--worktree"), ARG("core.worktree"), ARG(in_scratch("wt/a")));
        assert_found("wt/a", "wt/r/.git");
        git("wt/a", ARG("config"), ARG("--worktree"), ARG("core.worktree"), ARG(in_scratch("wt/r")));
        assert_refused("wt/a", "config.worktree sets core.worktree");
}

/* As newer gits write them. */
static void test_relative_pointers(void **state) {
        make_repository("rel/r");
        git("rel/r", ARG("worktree"), ARG("add"), ARG("-q"), ARG("../wt"));
        put("rel/wt/.git", "gitdir: ../r/.git/worktrees/wt\n");
        put("rel/r/.git/worktrees/wt/gitdir", "../../../../wt/.git\n");
        assert_found("rel/wt", "rel/r/.git");

        /* Line ends, and none. */
        put("rel/wt/.git", "gitdir: ../r/.git/worktrees/wt\r\n\n");
        assert_found("rel/wt", "rel/r/.git");
        put("rel/wt/.git", "gitdir: ../r/.git/worktrees/wt");
        assert_found("rel/wt", "rel/r/.git");
}

static void test_bare_layout(void **state) {
        make_repository("bare/r");
        make_path("bare/p");
        git("bare", ARG("clone"), ARG("-q"), ARG("--bare"), ARG("r"), ARG("p/.bare"));
        put("bare/p/.git", "gitdir: ./.bare\n");
        git("bare/p", ARG("worktree"), ARG("add"), ARG("-q"), ARG("main2"));
        assert_found("bare/p/main2", "bare/p/.bare");
        assert_found("bare/p", NULL);
}

static void test_submodules(void **state) {
        make_repository("sm/inner");
        make_repository("sm/lib");
        git("sm/lib", ARG("submodule"), ARG("--quiet"), ARG("add"), ARG("../inner"), ARG("in/ner"));
        git("sm/lib", ARG("commit"), ARG("-q"), ARG("-m"), ARG("inner"));
        make_repository("sm/super");
        git("sm/super", ARG("submodule"), ARG("--quiet"), ARG("add"), ARG("../lib"), ARG("libs/sub"));
        git("sm/super/libs/sub", ARG("submodule"), ARG("--quiet"), ARG("update"), ARG("--init"));
        git("sm/super", ARG("commit"), ARG("-q"), ARG("-m"), ARG("sub"));

        assert_found("sm/super", NULL);
        assert_found("sm/super/libs/sub", "sm/super/.git/modules/libs/sub");
        assert_found("sm/super/libs/sub/in/ner", "sm/super/.git/modules/libs/sub/modules/in/ner");

        /* A linked worktree of a submodule: the common directory's core.worktree is the submodule's own place. */
        git("sm/super/libs/sub", ARG("worktree"), ARG("add"), ARG("-q"), ARG(in_scratch("sm/sub-wt")));
        assert_found("sm/sub-wt", "sm/super/.git/modules/libs/sub");

        /* A submodule in a linked worktree of its superproject. */
        git("sm/super", ARG("worktree"), ARG("add"), ARG("-q"), ARG("../super-wt"));
        git("sm/super-wt", ARG("submodule"), ARG("--quiet"), ARG("update"), ARG("--init"));
        assert_found("sm/super-wt", "sm/super/.git");
        assert_found("sm/super-wt/libs/sub", "sm/super/.git/worktrees/super-wt/modules/libs/sub");
}

static void test_separate_directory(void **state) {
        make_path("sep/work");
        git("sep/work", ARG("init"), ARG("-q"), ARG("--separate-git-dir=../git"));
        assert_refused("sep/work", "git config core.worktree");

        /* What the message says helps. */
        git("sep/work", ARG("config"), ARG("core.worktree"), ARG(in_scratch("sep/work")));
        assert_found("sep/work", "sep/git");
}

/* What a guest could have planted */

static void test_other_repository(void **state) {
        make_repository("other/victim");
        git("other/victim", ARG("worktree"), ARG("add"), ARG("-q"), ARG("../victim-wt"));
        make_path("other/work");

        put("other/work/.git", "gitdir: %s\n", in_scratch("other/victim/.git"));
        assert_refused("other/work", "does not name it back");
        put("other/work/.git", "gitdir: ../victim/.git\n");
        assert_refused("other/work", "does not name it back");
        put("other/work/.git", "gitdir: ../victim/.git/worktrees/victim-wt\n");
        assert_refused("other/work", "does not name it back");
        put("other/work/.git", "gitdir: ../victim\n");
        assert_refused("other/work", "does not name it back");
        put("other/work/.git", "gitdir: /\n");
        assert_refused("other/work", geteuid() == 0 ? "does not name it back" : "belongs to another user");

        /* Through a link of the work tree's own. */
        assert_int_equal(symlink("../victim", in_scratch("other/work/link")), 0);
        put("other/work/.git", "gitdir: link/.git\n");
        assert_refused("other/work", "does not name it back");

        /* A directory that only looks like one, beside the work tree. */
        make_fake("other/fake");
        put("other/work/.git", "gitdir: ../fake\n");
        assert_refused("other/work", "does not name it back");
        put("other/fake/config", "[core]\n\tworktree = %s\n", in_scratch("other/victim"));
        assert_refused("other/work", "another place");
}

/* Inside the work root, which the guest has anyway, nothing has to be pointed back at, but nothing leads out either. */
static void test_inside(void **state) {
        make_fake("in/work/.fake");
        put("in/work/.git", "gitdir: .fake\n");
        assert_found("in/work", NULL);

        make_repository("in/victim");
        put("in/work/.fake/commondir", "%s\n", in_scratch("in/victim/.git"));
        put("in/work/.fake/gitdir", "%s\n", in_scratch("in/work/.git"));
        assert_refused("in/work", "does not name it back");
        put("in/work/.fake/commondir", "../../victim/.git\n");
        assert_refused("in/work", "does not name it back");

        /* A worktree's directory of its own making, whose common directory is elsewhere. */
        make_path("in/work/.common/worktrees/x");
        put("in/work/.git", "gitdir: .common/worktrees/x\n");
        put("in/work/.common/worktrees/x/gitdir", "%s\n", in_scratch("in/work/.git"));
        put("in/work/.common/worktrees/x/commondir", "../../../../victim/.git\n");
        assert_refused("in/work", "does not name it back");
        assert_int_equal(symlink(in_scratch("in/victim/.git"), in_scratch("in/work/common")), 0);
        put("in/work/.common/worktrees/x/commondir", "../../../common\n");
        assert_refused("in/work", "does not name it back");
        put("in/work/.common/worktrees/x/commondir", "../..\n");
        assert_found("in/work", NULL);
}

static void test_worktree_pointers(void **state) {
        make_repository("ptr/r");
        make_repository("ptr/victim");
        git("ptr/r", ARG("worktree"), ARG("add"), ARG("-q"), ARG("../wt"));
        git("ptr/r", ARG("worktree"), ARG("add"), ARG("-q"), ARG("../wt2"));
        assert_found("ptr/wt", "ptr/r/.git");

        /* Names another work tree, a directory, nothing. */
        put("ptr/r/.git/worktrees/wt/gitdir", "%s\n", in_scratch("ptr/wt2/.git"));
        assert_refused("ptr/wt", "does not name it back");
        put("ptr/r/.git/worktrees/wt/gitdir", "%s\n", in_scratch("ptr/wt"));
        assert_refused("ptr/wt", "does not name it back");
        put("ptr/r/.git/worktrees/wt/gitdir", "\n");
        assert_refused("ptr/wt", "does not name it back");
        put("ptr/r/.git/worktrees/wt/gitdir", "%s", "");
        assert_refused("ptr/wt", "does not name it back");
        assert_int_equal(unlink(in_scratch("ptr/r/.git/worktrees/wt/gitdir")), 0);
        assert_refused("ptr/wt", "does not name it back");

        /* By way of a link, or a FIFO that nobody writes to. */
        put("ptr/right", "%s\n", in_scratch("ptr/wt/.git"));
        assert_int_equal(symlink(in_scratch("ptr/right"), in_scratch("ptr/r/.git/worktrees/wt/gitdir")), 0);
        assert_refused("ptr/wt", "does not name it back");
        assert_int_equal(unlink(in_scratch("ptr/r/.git/worktrees/wt/gitdir")), 0);
        assert_int_equal(mkfifo(in_scratch("ptr/r/.git/worktrees/wt/gitdir"), 0600), 0);
        assert_refused("ptr/wt", "does not name it back");
        put("ptr/r/.git/worktrees/wt/gitdir", "%s\n", in_scratch("ptr/wt/.git"));
        assert_found("ptr/wt", "ptr/r/.git");

        /* The common directory elsewhere. */
        put("ptr/r/.git/worktrees/wt/commondir", "%s\n", in_scratch("ptr/victim/.git"));
        assert_refused("ptr/wt", "does not name it back");
        put("ptr/r/.git/worktrees/wt/commondir", "../../..\n");
        assert_refused("ptr/wt", "does not name it back");
        put("ptr/r/.git/worktrees/wt/commondir", ".\n");
        assert_refused("ptr/wt", "does not name it back");
        put("ptr/r/.git/worktrees/wt/commondir", "/\n");
        assert_refused("ptr/wt", "does not name it back");
        assert_int_equal(unlink(in_scratch("ptr/r/.git/worktrees/wt/commondir")), 0);
        assert_refused("ptr/wt", "does not name it back");
}

static void test_commondir_in_repository(void **state) {
        make_repository("cd/r");
        make_fake("cd/evil");
        put("cd/r/.git/commondir", "../../evil\n");
        assert_refused("cd/r", ".git/commondir");
        assert_int_equal(unlink(in_scratch("cd/r/.git/commondir")), 0);
        assert_int_equal(symlink("nowhere", in_scratch("cd/r/.git/commondir")), 0);
        assert_refused("cd/r", ".git/commondir");
}

static void test_core_worktree(void **state) {
        static const struct {
                const char *before, *after;
        } spellings[] = {
                { "[core]\n\tworktree = ", "\n" },
                { "[CORE]\n\tWorkTree=", "\n" },
                { "[core] WORKTREE = \"", "\"\n" },
                { "[core]\n\tbare = false\n[user]\n\tname = x\n[core]\n\tworktree = ", " ; comment\n" },
                { "[core]\n\tworktree = ", " # comment\n" },
                { "; x\n# worktree = /x\n[core] ; c\n\tworktree = ", "" },
                { "[core]\n\tworktree = \\\n", "\n" },
                { "[core]\r\n\tworktree = ", "\r\n" },
                { "\xef\xbb\xbf[core]\n\tworktree = ", "\n" },
                { "[core]\n\tworktree = .\n\tworktree = ", "\n" },
        };
        static const char *const places[] = { "config", "config.worktree" };

        make_repository("cw/r");
        make_path("cw/elsewhere");
        for (size_t i = 0; i < ELEMENTSOF(spellings); i++)
                for (size_t k = 0; k < ELEMENTSOF(places); k++) {
                        char name[64];

                        (void) snprintf(name, sizeof(name), "cw/r/.git/%s", places[k]);
                        /* The other file is harmless. */
                        put("cw/r/.git/config", "[core]\n\trepositoryformatversion = 0\n");
                        put("cw/r/.git/config.worktree", "%s", "");

                        put(name, "%s%s%s", spellings[i].before, in_scratch("cw/r"), spellings[i].after);
                        assert_found("cw/r", NULL);
                        put(name, "%s%s%s", spellings[i].before, in_scratch("cw/elsewhere"), spellings[i].after);
                        assert_refused("cw/r", "cw/elsewhere, which is another place");
                        put(name, "%s%s%s", spellings[i].before, "../../elsewhere", spellings[i].after);
                        assert_refused("cw/r", "another place");
                        put(name, "%s%s%s", spellings[i].before, "/nonexistent", spellings[i].after);
                        assert_refused("cw/r", "/nonexistent, which is another place");
                }

        /* No value, an empty one; what git says of "~" is not asked. */
        put("cw/r/.git/config.worktree", "%s", "");
        put("cw/r/.git/config", "[core]\n\tworktree\n");
        assert_refused("cw/r", "another place");
        put("cw/r/.git/config", "[core]\n\tworktree =\n");
        assert_refused("cw/r", "another place");
        put("cw/r/.git/config", "[core]\n\tworktree = ~\n");
        assert_refused("cw/r", "to ~, which is another place");
        put("cw/r/.git/config", "[core]\n\tworktree = \"/a\\nb\\t\x1b\"\n");
        assert_refused("cw/r", "/a\\x0ab\\x09\\x1b");

        /* The last one counts, as for git; other sections and mentions do not. */
        put("cw/r/.git/config", "[core]\n\tworktree = /x\n\tworktree = %s\n", in_scratch("cw/r"));
        assert_found("cw/r", NULL);
        put("cw/r/.git/config", "[core \"x\"]\n\tworktree = /x\n[corex]\n\tworktree = /x\n[alias]\n\tworktree = worktree list\n");
        assert_found("cw/r", NULL);
        put("cw/r/.git/config", "[include]\n\tpath = %s\n", in_scratch("cw/included"));
        put("cw/included", "[core]\n\tworktree = /x\n");
        assert_found("cw/r", NULL);
}

static void test_bad_config(void **state) {
        static const char *const places[] = { "config", "config.worktree" };
        const char nul[] = "[core]\n\0worktree = /x\n";

        make_repository("bc/r");
        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                char name[64];
                int fd;

                (void) snprintf(name, sizeof(name), "bc/r/.git/%s", places[i]);
                put("bc/elsewhere", "[user]\n\tname = x\n");

                (void) unlink(in_scratch(name));
                assert_int_equal(symlink(in_scratch("bc/elsewhere"), in_scratch(name)), 0);
                assert_refused("bc/r", "is a symbolic link");
                assert_int_equal(unlink(in_scratch(name)), 0);
                assert_int_equal(symlink("nowhere", in_scratch(name)), 0);
                assert_refused("bc/r", "is a symbolic link");
                assert_int_equal(unlink(in_scratch(name)), 0);

                assert_int_equal(mkfifo(in_scratch(name), 0600), 0);
                assert_refused("bc/r", "is no file");
                assert_int_equal(unlink(in_scratch(name)), 0);
                scratch_mkdir(name);
                assert_refused("bc/r", "is no file");
                assert_int_equal(rmdir(in_scratch(name)), 0);

                scratch_write(name, nul, sizeof(nul) - 1);
                assert_refused("bc/r", "no configuration that git could read");
                put(name, "[core\n\tworktree = /x\n");
                assert_refused("bc/r", "no configuration that git could read");

                fd = open(in_scratch(name), O_WRONLY | O_CLOEXEC);
                assert_int_equal(ftruncate(fd, (off_t) (5 * MIB)), 0);
                fd_close(fd);
                assert_refused("bc/r", "Cannot read");

                put(name, "[core]\n\trepositoryformatversion = 0\n");
                assert_found("bc/r", NULL);
        }
}

static void test_odd_dot_git(void **state) {
        static const char *const texts[] = {
                "", "\n", "gitdir:", "gitdir: ", "gitdir: \n", "gitdir:../r/.git\n", "GITDIR: ../r/.git\n", " gitdir: ../r/.git\n", "../r/.git\n",
        };
        _cleanup_free_ char *long_text = malloc(8192);

        make_repository("odd/r");
        make_path("odd/w");
        for (size_t i = 0; i < ELEMENTSOF(texts); i++) {
                put("odd/w/.git", "%s", texts[i]);
                assert_refused("odd/w", "does not say");
        }

        put("odd/w/.git", "gitdir: ../nowhere\n");
        assert_refused("odd/w", "does not exist");
        put("odd/w/.git", "gitdir: ../r/.git/HEAD\n");
        assert_refused("odd/w", "Cannot open the git directory");
        scratch_write("odd/w/.git", "gitdir: ../r/.git\0x\n", 21);
        assert_refused("odd/w", "does not say");
        put("odd/w/.git", "gitdir: \x1b[2J\n");
        assert_refused("odd/w", "does not exist");

        assert_non_null(long_text);
        memset(long_text, '/', 8191);
        long_text[8191] = '\0';
        scratch_puts("odd/w/.git", long_text);
        assert_refused("odd/w", "Cannot read");
        assert_int_equal(unlink(in_scratch("odd/w/.git")), 0);

        assert_int_equal(symlink("../r/.git", in_scratch("odd/w/.git")), 0);
        assert_refused("odd/w", "is a symbolic link");
        assert_int_equal(unlink(in_scratch("odd/w/.git")), 0);
        assert_int_equal(symlink("nowhere", in_scratch("odd/w/.git")), 0);
        assert_refused("odd/w", "is a symbolic link");
        assert_int_equal(unlink(in_scratch("odd/w/.git")), 0);
        assert_int_equal(mkfifo(in_scratch("odd/w/.git"), 0600), 0);
        assert_refused("odd/w", "neither a directory nor a file");
        assert_int_equal(unlink(in_scratch("odd/w/.git")), 0);
}

/* What is mounted beside the work root must be as harmless as the work root itself. */
static void test_refused_places(void **state) {
        make_repository("home/.config/dots");
        make_path("home/src");
        git("home/.config/dots", ARG("worktree"), ARG("add"), ARG("-q"), ARG("../../src/dots"));
        make_repository("home/src/r");
        git("home/src/r", ARG("worktree"), ARG("add"), ARG("-q"), ARG("../wt"));

        for (unsigned i = 0; i < 2; i++) {
                _cleanup_plan_ Plan *p = stage_plan();
                int r;

                assert_int_equal(chdir(in_scratch(i == 0 ? "home/src/dots" : "home/src/wt")), 0);
                messages_begin();
                r = plan_work_root(p);
                if (i == 0) {
                        assert_one_message(messages_end(), ".config/dots/.git cannot be given to a sandbox");
                        assert_int_equal(r, -EPERM);
                } else {
                        assert_string_equal(messages_end(), "");
                        assert_int_equal(r, 0);
                        assert_string_equal(p->git_common, in_scratch("home/src/r/.git"));
                }
                assert_int_equal(chdir("/"), 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain),
                cmocka_unit_test(test_worktree),
                cmocka_unit_test(test_relative_pointers),
                cmocka_unit_test(test_bare_layout),
                cmocka_unit_test(test_submodules),
                cmocka_unit_test(test_separate_directory),
                cmocka_unit_test(test_other_repository),
                cmocka_unit_test(test_inside),
                cmocka_unit_test(test_worktree_pointers),
                cmocka_unit_test(test_commondir_in_repository),
                cmocka_unit_test(test_core_worktree),
                cmocka_unit_test(test_bad_config),
                cmocka_unit_test(test_odd_dot_git),
                cmocka_unit_test(test_refused_places),
        };

        if (!git_is_installed()) {
                (void) fprintf(stderr, "git is not installed\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, stage_setup, scratch_remove);
}
