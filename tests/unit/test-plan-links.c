/* SPDX-License-Identifier: MIT */

/* What the profile shares with ~/.claude, and links that it must not follow. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

#define PROFILE "home/.claude-profiles/" STAGE_PROFILE

static Plan *plan(const char *said) {
        Plan *p = stage_plan();

        messages_begin();
        assert_int_equal(plan_links(p), 0);
        assert_said(messages_end(), said);
        return p;
}

static void link_scratch(const char *target, const char *name) {
        char path[PATH_MAX];

        (void) snprintf(path, sizeof(path), "%s", in_scratch(target));
        scratch_link(path, name);
}

static void test_links(void **state) {
        _cleanup_plan_ Plan *none = plan(NULL), *all = NULL, *own = NULL;

        assert_int_equal(none->n_mounts, 0);

        make_path("home/.claude/commands");
        make_path("home/.claude/skills");
        scratch_puts("home/.claude/statusline.sh", "#!/bin/sh\n");
        link_scratch("home/.claude/commands", PROFILE "/commands");
        link_scratch("home/.claude/skills", PROFILE "/skills");
        link_scratch("home/.claude/statusline.sh", PROFILE "/statusline.sh");
        all = plan(NULL);
        assert_int_equal(all->n_mounts, 3);
        for (size_t i = 0; i < all->n_mounts; i++) {
                assert_int_equal(all->mounts[i].flags, MOUNT_READ_ONLY); /* and never relabelled: the user's own */
                assert_string_equal(all->mounts[i].source, all->mounts[i].target);
        }
        assert_string_equal(all->mounts[0].target, in_scratch("home/.claude/commands"));
        assert_string_equal(all->mounts[2].target, in_scratch("home/.claude/statusline.sh"));

        /* A directory of the profile's own is in it. */
        assert_int_equal(unlink(in_scratch(PROFILE "/skills")), 0);
        scratch_mkdir(PROFILE "/skills");
        own = plan(NULL);
        assert_int_equal(own->n_mounts, 2);
}

static void test_elsewhere(void **state) {
        static const char *const targets[] = { "/etc", "../../.claude/commands", "/", "", "/home/\x1b[31m" };

        make_path("home/.claude/commands");
        for (size_t i = 0; i < ELEMENTSOF(targets); i++) {
                _cleanup_plan_ Plan *p = NULL;

                if (targets[i][0] == '\0')
                        link_scratch("home/.claude", PROFILE "/commands");
                else
                        scratch_link(targets[i], PROFILE "/commands");
                p = plan("it leads nowhere in the sandbox");
                assert_int_equal(p->n_mounts, 0);
        }
}

/* ~/.claude/commands is a link of the user's to a directory of dotfiles. */
static void test_dotfiles(void **state) {
        _cleanup_plan_ Plan *direct = NULL, *private = NULL, *swapped = NULL, *dangling = NULL, *relative = NULL, *other = NULL, *gone = NULL;

        make_path("home/.claude");
        make_path("home/dotfiles/claude/commands");
        make_path("home/.config/dotfiles/commands");
        make_path("home/.ssh");
        link_scratch("home/.claude/commands", PROFILE "/commands");

        link_scratch("home/dotfiles/claude/commands", "home/.claude/commands");
        direct = plan(NULL);
        assert_int_equal(direct->n_mounts, 1);
        assert_string_equal(direct->mounts[0].source, in_scratch("home/dotfiles/claude/commands"));
        assert_string_equal(direct->mounts[0].target, in_scratch("home/.claude/commands"));

        /* The user's own words lead there. */
        link_scratch("home/.config/dotfiles/commands", "home/.claude/commands");
        private = plan(NULL);
        assert_int_equal(private->n_mounts, 1);

        /* Relative, as stow makes them. */
        scratch_link("../dotfiles/claude/commands", "home/.claude/commands");
        relative = plan(NULL);
        assert_int_equal(relative->n_mounts, 1);
        assert_string_equal(relative->mounts[0].source, in_scratch("home/dotfiles/claude/commands"));

        /* A guest that had ~/dotfiles for its work root put a link into the way. */
        link_scratch("home/dotfiles/claude/commands", "home/.claude/commands");
        assert_int_equal(rmdir(in_scratch("home/dotfiles/claude/commands")), 0);
        link_scratch("home/.ssh", "home/dotfiles/claude/commands");
        swapped = plan("reached by way of several links");
        assert_int_equal(swapped->n_mounts, 0);

        make_path("home/.aws");
        assert_int_equal(unlink(in_scratch("home/dotfiles/claude/commands")), 0);
        link_scratch("home/.aws", "home/dotfiles/claude/commands");
        other = plan("reached by way of several links");
        assert_int_equal(other->n_mounts, 0);

        scratch_link("/nonexistent", "home/dotfiles/claude/commands");
        dangling = plan("reached by way of several links");
        assert_int_equal(dangling->n_mounts, 0);

        assert_int_equal(unlink(in_scratch("home/dotfiles/claude/commands")), 0);
        gone = plan("No such file or directory");
        assert_int_equal(gone->n_mounts, 0);
}

/* ~/.claude as a whole is one: what lies in the dotfiles is nobody's to make a link of. */
static void test_dotfiles_as_a_whole(void **state) {
        _cleanup_plan_ Plan *good = NULL, *planted = NULL;

        make_path("home/dotfiles/claude/commands");
        make_path("home/.ssh");
        scratch_link("dotfiles/claude", "home/.claude");
        link_scratch("home/.claude/commands", PROFILE "/commands");
        good = plan(NULL);
        assert_int_equal(good->n_mounts, 1);
        assert_string_equal(good->mounts[0].source, in_scratch("home/dotfiles/claude/commands"));

        assert_int_equal(rmdir(in_scratch("home/dotfiles/claude/commands")), 0);
        scratch_link("../../.ssh", "home/dotfiles/claude/commands");
        planted = plan("reached by way of several links");
        assert_int_equal(planted->n_mounts, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_links, stage_setup, stage_teardown),
                cmocka_unit_test_setup_teardown(test_elsewhere, stage_setup, stage_teardown),
                cmocka_unit_test_setup_teardown(test_dotfiles, stage_setup, stage_teardown),
                cmocka_unit_test_setup_teardown(test_dotfiles_as_a_whole, stage_setup, stage_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
