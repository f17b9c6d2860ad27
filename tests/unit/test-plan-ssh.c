/* SPDX-License-Identifier: MIT */

/* What ssh in the guest gets: which agents, in which order, and which files. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent-stand-in.h"
#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch-stage.h"
#include "messages.h"

/* The plan's part, and the message that it must have said, or NULL. */
static Plan *plan(const char *said) {
        Plan *p = stage_plan();

        messages_begin();
        assert_int_equal(plan_ssh(p), 0);
        if (said)
                assert_one_message(messages_end(), said);
        else
                assert_string_equal(messages_end(), "");
        return p;
}

static void start(StandIn *s, const char *name, const char *answer, size_t n) {
        stand_in_start(s, name, ANSWERS, answer, n);
}

#define KEYS agent_keys, sizeof(agent_keys) - 1
#define EMPTY agent_empty, sizeof(agent_empty) - 1

static void test_files(void **state) {
        _cleanup_plan_ Plan *p = NULL, *with = NULL, *planted = NULL;

        stage.settings.ssh_agent = false;
        p = plan(NULL);
        assert_int_equal(p->n_mounts, 1);
        assert_string_equal(p->mounts[0].source, in_scratch("home/.local/share/claude-profile/profiles/" STAGE_PROFILE "/ssh"));
        assert_string_equal(p->mounts[0].target, "/home/appuser/.ssh");
        assert_int_equal(p->mounts[0].flags, MOUNT_RELABEL);

        make_path("home/.ssh");
        scratch_puts("home/.ssh/known_hosts", "example.org ssh-ed25519 AAAA\n");
        scratch_puts("home/.ssh/id_ed25519", "secret");
        with = plan(NULL);
        assert_int_equal(with->n_mounts, 2);
        assert_string_equal(with->mounts[0].target, "/etc/ssh/ssh_known_hosts");
        assert_int_equal(with->mounts[0].flags, MOUNT_READ_ONLY | MOUNT_RELABEL);
        assert_int_equal(with->n_files, 1);
        assert_string_equal(with->files[0].data, "example.org ssh-ed25519 AAAA\n");
        assert_int_equal(with->n_services, 0);
        assert_null(with->guest_env);

        /* In a directory that a sandbox had: the user's link leads there, and what lies there is a guest's link. */
        assert_int_equal(rename(in_scratch("home/.ssh"), in_scratch("home/dotfiles")), 0);
        assert_int_equal(rename(in_scratch("home/dotfiles/known_hosts"), in_scratch("home/hosts")), 0);
        scratch_link("dotfiles", "home/.ssh");
        scratch_link("id_ed25519", "home/dotfiles/known_hosts");
        planted = plan("/known_hosts is reached by way of several links");
        assert_int_equal(planted->n_files, 0);
        assert_int_equal(unlink(in_scratch("home/dotfiles/known_hosts")), 0);
        assert_int_equal(unlink(in_scratch("home/.ssh")), 0);
        assert_int_equal(rename(in_scratch("home/dotfiles"), in_scratch("home/.ssh")), 0);
        assert_int_equal(rename(in_scratch("home/hosts"), in_scratch("home/.ssh/known_hosts")), 0);
}

static void test_agents(void **state) {
        _cleanup_plan_ Plan *one = NULL, *both = NULL, *swapped = NULL, *twice = NULL;
        StandIn a = { .fd = -EBADF }, b = { .fd = -EBADF };

        stage.settings.ssh_agent = true;
        make_path("home/.1password");
        start(&a, "a.sock", KEYS);
        (void) setenv("SSH_AUTH_SOCK", a.path, 1);
        one = plan(NULL);
        assert_int_equal(one->n_services, 1);
        assert_string_equal(one->services[0].host_path, a.path);
        assert_string_equal(one->services[0].guest_path, "/run/claude-sandbox/ssh-agent-0.sock");
        assert_int_equal(one->services[0].id.kind, SERVICE_SSH);
        assert_int_equal(one->services[0].id.index, 0);
        assert_string_equal(strv_env_get(one->guest_env, "SSH_AUTH_SOCK"), "/run/claude-sandbox/ssh-agent-0.sock");

        /* $SSH_AUTH_SOCK first among equals. */
        start(&b, "home/.1password/agent.sock", KEYS);
        both = plan(NULL);
        assert_int_equal(both->n_services, 2);
        assert_string_equal(both->services[0].host_path, a.path);
        assert_string_equal(both->services[1].host_path, b.path);
        assert_string_equal(both->services[1].guest_path, "/run/claude-sandbox/ssh-agent-1.sock");
        assert_int_equal(both->services[1].id.index, 1);

        /* One with keys before one without. */
        stand_in_stop(&a);
        start(&a, "a.sock", EMPTY);
        swapped = plan(NULL);
        assert_int_equal(swapped->n_services, 2);
        assert_string_equal(swapped->services[0].host_path, b.path);
        assert_string_equal(swapped->services[1].host_path, a.path);
        assert_int_equal(swapped->services[1].id.index, 1);

        /* The same socket by two names. */
        assert_int_equal(symlink("home/.1password/agent.sock", in_scratch("link.sock")), 0);
        (void) setenv("SSH_AUTH_SOCK", in_scratch("link.sock"), 1);
        twice = plan(NULL);
        assert_int_equal(twice->n_services, 1);
        assert_int_equal(unlink(in_scratch("link.sock")), 0);

        stand_in_stop(&a);
        stand_in_stop(&b);
}

static void test_selection(void **state) {
        static const char work[] = "\0\0\0\x13\x0c\0\0\0\1" "\0\0\0\2k1\0\0\0\4work",
                home[] = "\0\0\0\x13\x0c\0\0\0\1" "\0\0\0\2k2\0\0\0\4home";
        char *chosen[] = { (char *) "work", NULL }, *none[] = { (char *) "other", NULL };
        _cleanup_plan_ Plan *all = NULL, *one = NULL, *neither = NULL;
        StandIn a = { .fd = -EBADF }, b = { .fd = -EBADF };

        stage.settings.ssh_agent = true;
        start(&a, "a.sock", home, sizeof(home) - 1);
        start(&b, "home/.1password/agent.sock", work, sizeof(work) - 1);
        (void) setenv("SSH_AUTH_SOCK", a.path, 1);
        all = plan(NULL);
        assert_string_equal(all->services[0].host_path, a.path);

        /* The agent that holds the chosen key comes first; the other counts as empty. */
        stage.settings.ssh_keys = chosen;
        one = plan(NULL);
        assert_int_equal(one->n_services, 2);
        assert_string_equal(one->services[0].host_path, b.path);
        assert_string_equal(one->services[1].host_path, a.path);

        stage.settings.ssh_keys = none;
        neither = plan("No ssh-agent holds a key that SSHKeys= selects");
        assert_int_equal(neither->n_services, 2);

        stage.settings.ssh_keys = NULL;
        stand_in_stop(&a);
        stand_in_stop(&b);
}

static void test_dead_agents(void **state) {
        _cleanup_plan_ Plan *skipped = NULL, *none = NULL, *unset = NULL, *relative = NULL;
        StandIn dead = { .fd = -EBADF }, b = { .fd = -EBADF };

        stage.settings.ssh_agent = true;
        stand_in_listen(&dead, "dead.sock", 8);
        dead.fd = fd_close(dead.fd);
        (void) setenv("SSH_AUTH_SOCK", dead.path, 1);
        none = plan("dead or no agent's socket");
        assert_int_equal(none->n_services, 0);
        assert_null(none->guest_env);

        /* A dead one first in line is skipped. */
        start(&b, "home/.1password/agent.sock", KEYS);
        skipped = plan(NULL);
        assert_int_equal(skipped->n_services, 1);
        assert_string_equal(skipped->services[0].host_path, b.path);
        assert_int_equal(skipped->services[0].id.index, 0);
        assert_string_equal(strv_env_get(skipped->guest_env, "SSH_AUTH_SOCK"), "/run/claude-sandbox/ssh-agent-0.sock");
        stand_in_stop(&b);

        assert_int_equal(chdir(scratch), 0);
        (void) setenv("SSH_AUTH_SOCK", "dead.sock", 1);
        relative = plan("No ssh-agent answers");
        assert_int_equal(chdir("/"), 0);
        (void) unsetenv("SSH_AUTH_SOCK");
        unset = plan("SSH_AUTH_SOCK is not set");
        assert_int_equal(relative->n_services + unset->n_services, 0);
        (void) unlink(dead.path);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_agents),
                cmocka_unit_test(test_selection),
                cmocka_unit_test(test_dead_agents),
        };

        return cmocka_run_group_tests(tests, stage_setup, scratch_remove);
}
