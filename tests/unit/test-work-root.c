/* SPDX-License-Identifier: MIT */

/* Which directories a sandbox may have, and which never. Every refusal names the directory and the reason, and what was refused
 * stays out of the plan's mounts because the launch ends there. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

/* The plan of a launch from `directory`: absolute, or below the scratch directory. */
static int plan_in(const char *directory, Plan **ret) {
        Plan *p;
        int r;

        if (chdir(directory[0] == '/' ? directory : in_scratch(directory)) < 0)
                fail_msg("cannot change to %s: %s", directory, strerror(errno));
        p = stage_plan();
        r = plan_work_root(p);
        assert_int_equal(chdir("/"), 0);

        *ret = p;
        return r;
}

static void assert_allowed(const char *directory, const char *root) {
        _cleanup_plan_ Plan *p = NULL;
        int r;

        messages_begin();
        r = plan_in(directory, &p);
        assert_string_equal(messages_end(), "");
        if (r != 0)
                fail_msg("%s: %d", directory, r);
        assert_string_equal(p->work_root, in_scratch(root));
        assert_string_equal(p->directory, in_scratch(directory));
        assert_null(p->git_common);
}

static void assert_refused(const char *directory, int error, const char *why) {
        _cleanup_plan_ Plan *p = NULL;
        const char *text;
        int r;

        messages_begin();
        r = plan_in(directory, &p);
        text = messages_end();
        if (r != error)
                fail_msg("%s: %d, not %d: %s", directory, r, error, text);
        assert_one_message(text, why);
        assert_null(p->mounts);
}

static int setup(void **state) {
        static const char *const dirs[] = {
                "home/.config/claude-profile/profiles", "home/.config/nvim", "home/.local/share/claude-profile/guest", "home/.local/bin",
                "home/.claude/projects", "home/.ssh/keys", "home/.gnupg/private-keys-v1.d", "home/.1password/x", "home/src/thing/sub/dir",
                "home/.claude-profiles/work/projects", "run/claude-profile/work-01234567", "run/bus.d", "home/.sshx", "home/.configs/x",
                "home/.claude-profiles2", "home/.localx", "homes/x", "home/run", "runs",
        };

        if (scratch_make(state) < 0)
                return -1;
        stage_make();
        for (size_t i = 0; i < ELEMENTSOF(dirs); i++)
                make_path(dirs[i]);
        make_path("home/src/thing/.git");
        return 0;
}

static void test_allowed(void **state) {
        assert_allowed("home/src", "home/src");
        assert_allowed("home/src/thing", "home/src/thing");
        assert_allowed("home/src/thing/sub/dir", "home/src/thing");

        /* Siblings of what is refused, by name or by prefix; what lies beside the home. */
        assert_allowed("home/.sshx", "home/.sshx");
        assert_allowed("home/.configs/x", "home/.configs/x");
        assert_allowed("home/.claude-profiles2", "home/.claude-profiles2");
        assert_allowed("home/.localx", "home/.localx");
        assert_allowed("homes", "homes");
        assert_allowed("homes/x", "homes/x");
        assert_allowed("home/run", "home/run");
        assert_allowed("runs", "runs");
}

static void test_refused(void **state) {
        static const struct {
                const char *directory, *why;
        } rows[] = {
                { "home", "your home directory" },
                { ".", "home" },
                { "/", "cannot be given to a sandbox" },
                { "home/.claude-profiles", "profiles of every account" },
                { "home/.claude-profiles/work", "profiles of every account" },
                { "home/.claude-profiles/work/projects", "profiles of every account" },
                { "run", "sockets of your session" },
                { "run/bus.d", "sockets of your session" },
                { "run/claude-profile/work-01234567", "sockets of your session" },
                { "home/.config", ".config" },
                { "home/.config/nvim", ".config" },
                { "home/.config/claude-profile", "claude-profile's settings" },
                { "home/.config/claude-profile/profiles", "claude-profile's settings" },
                { "home/.local", ".local" },
                { "home/.local/bin", ".local" },
                { "home/.local/share", ".local" },
                { "home/.local/share/claude-profile/guest", "its own data" },
                { "home/.claude", ".claude" },
                { "home/.claude/projects", ".claude" },
                { "home/.ssh", ".ssh" },
                { "home/.ssh/keys", ".ssh" },
                { "home/.gnupg", ".gnupg" },
                { "home/.gnupg/private-keys-v1.d", ".gnupg" },
                { "home/.1password", ".1password" },
                { "home/.1password/x", ".1password" },
                { "/tmp", "/tmp" },
                { "/var/tmp", "/var/tmp" },
                { "/run", "/run" },
                { "/etc", "/etc" },
                { "/usr", "/usr" },
                { "/var", "/var" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_refused(rows[i].directory, -EPERM, rows[i].why);
}

/* Places of their own choice: data and settings elsewhere, the profiles base anywhere. */
static void test_places_elsewhere(void **state) {
        make_path("srv/a/b/data/claude-profile/x");
        make_path("srv/a/b/config/claude-profile/x");
        make_path("srv/a/b/base/work");
        make_path("srv/a/b/other");
        (void) snprintf(stage.data, sizeof(stage.data), "%s", in_scratch("srv/a/b/data/claude-profile"));
        (void) snprintf(stage.config, sizeof(stage.config), "%s", in_scratch("srv/a/b/config/claude-profile"));
        (void) snprintf(stage.base, sizeof(stage.base), "%s", in_scratch("srv/a/b/base"));

        assert_refused("srv/a/b/data/claude-profile", -EPERM, "its own data");
        assert_refused("srv/a/b/data/claude-profile/x", -EPERM, "its own data");
        assert_refused("srv/a/b/data", -EPERM, "its own data");
        assert_refused("srv/a/b/config", -EPERM, "claude-profile's settings");
        assert_refused("srv/a/b/config/claude-profile/x", -EPERM, "claude-profile's settings");
        assert_refused("srv/a/b/base", -EPERM, "profiles of every account");
        assert_refused("srv/a/b/base/work", -EPERM, "profiles of every account");
        assert_refused("srv/a/b", -EPERM, "profiles of every account");
        assert_refused("srv", -EPERM, "profiles of every account");
        assert_allowed("srv/a/b/other", "srv/a/b/other");

        /* Reached through a link, which the kernel's working directory does not show. */
        assert_int_equal(symlink("b", in_scratch("srv/a/link")), 0);
        (void) snprintf(stage.base, sizeof(stage.base), "%s", in_scratch("srv/a/link/base"));
        assert_refused("srv/a/b/base/work", -EPERM, "profiles of every account");
        assert_refused("srv/a", -EPERM, "profiles of every account");

        (void) snprintf(stage.base, sizeof(stage.base), "%s", in_scratch("home/.claude-profiles"));
        (void) snprintf(stage.data, sizeof(stage.data), "%s", in_scratch("home/.local/share/claude-profile"));
        (void) snprintf(stage.config, sizeof(stage.config), "%s", in_scratch("home/.config/claude-profile"));
}

static void test_home_through_link(void **state) {
        assert_int_equal(symlink("home", in_scratch("home-link")), 0);
        (void) snprintf(stage.home, sizeof(stage.home), "%s", in_scratch("home-link"));
        assert_refused("home", -EPERM, "your home directory");
        assert_refused("home-link", -EPERM, "your home directory");
        assert_refused("home/.ssh", -EPERM, ".ssh");
        assert_refused("home-link/.gnupg", -EPERM, ".gnupg");

        /* A dotfile that is a link: both its place and its target. */
        (void) snprintf(stage.home, sizeof(stage.home), "%s", in_scratch("home"));
        make_path("home/dotfiles/aws/x");
        assert_int_equal(rmdir(in_scratch("home/.1password/x")), 0);
        assert_int_equal(rmdir(in_scratch("home/.1password")), 0);
        assert_int_equal(symlink("dotfiles/aws", in_scratch("home/.1password")), 0);
        assert_refused("home/dotfiles/aws/x", -EPERM, ".1password");
        assert_refused("home/dotfiles", -EPERM, ".1password");
        assert_int_equal(unlink(in_scratch("home/.1password")), 0);
        make_path("home/.1password/x");
}

/* A repository at ~ makes ~ the root of everything below it that is no repository itself. */
static void test_dotfiles_repository(void **state) {
        make_path("home/.git");
        assert_refused("home", -EPERM, "your home directory");
        assert_refused("home/src", -EPERM, "your home directory");
        assert_refused("home/run", -EPERM, "your home directory");
        assert_allowed("home/src/thing/sub", "home/src/thing");
        assert_int_equal(rmdir(in_scratch("home/.git")), 0);

        /* Above the home, too. */
        make_path(".git");
        assert_refused("runs", -EPERM, "your home directory");
        assert_int_equal(rmdir(in_scratch(".git")), 0);
}

static void test_allow_root(void **state) {
        (void) snprintf(stage.allow_root, sizeof(stage.allow_root), "%s", in_scratch("home/.config/nvim"));
        stage.settings.allow_root = stage.allow_root;
        assert_allowed("home/.config/nvim", "home/.config/nvim");

        /* That one path, nothing around it. */
        assert_refused("home/.config", -EPERM, ".config");
        make_path("home/.config/nvim/lua");
        assert_refused("home/.config/nvim/lua", -EPERM, ".config");

        /* By whatever name. */
        assert_int_equal(symlink(".config/nvim", in_scratch("home/vim")), 0);
        (void) snprintf(stage.allow_root, sizeof(stage.allow_root), "%s/", in_scratch("home/vim"));
        assert_allowed("home/.config/nvim", "home/.config/nvim");

        (void) snprintf(stage.allow_root, sizeof(stage.allow_root), "%s", in_scratch("home"));
        assert_allowed("home", "home");
        (void) snprintf(stage.allow_root, sizeof(stage.allow_root), "%s", in_scratch("gone"));
        assert_refused("home", -EPERM, "CLAUDE_PROFILE_SANDBOX_ALLOW_ROOT");
        stage.settings.allow_root = NULL;
}

static void test_names(void **state) {
        static const char *const good[] = {
                "a:b", "a,b", "a\"b", "a'b", "src=x", " a b ", "a\tb", "a\nb", "a\x1b[31mb", "$HOME", "100%s", "back\\slash", "*", "-rf",
                "grüß 日本", "a\rb", "a\n\rb",
        };
        char path[256];

        for (size_t i = 0; i < ELEMENTSOF(good); i++) {
                (void) snprintf(path, sizeof(path), "odd/%s/sub", good[i]);
                make_path(path);
                assert_allowed(path, path);
        }

        /* Refused by name, on one line that drives no terminal. */
        make_path("odd/caf\xe9/sub");
        assert_refused("odd/caf\xe9/sub", -EILSEQ, "caf\\xe9/sub");
        make_path("odd/a\r\nb");
        assert_refused("odd/a\r\nb", -EILSEQ, "a\\x0d\\x0ab");
        make_path("home/.ssh/\x1b[2J");
        assert_refused("home/.ssh/\x1b[2J", -EPERM, "\\x1b[2J");
}

static void test_directory_that_is_gone(void **state) {
        _cleanup_plan_ Plan *p = NULL;
        int r;

        make_path("gone-soon");
        assert_int_equal(chdir(in_scratch("gone-soon")), 0);
        assert_int_equal(rmdir(in_scratch("gone-soon")), 0);

        p = stage_plan();
        messages_begin();
        r = plan_work_root(p);
        assert_one_message(messages_end(), "current directory");
        assert_int_equal(r, -ENOENT);
        assert_int_equal(chdir("/"), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_allowed),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_places_elsewhere),
                cmocka_unit_test(test_home_through_link),
                cmocka_unit_test(test_dotfiles_repository),
                cmocka_unit_test(test_allow_root),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_directory_that_is_gone),
        };

        return cmocka_run_group_tests(tests, setup, scratch_remove);
}
