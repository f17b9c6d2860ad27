/* SPDX-License-Identifier: MIT */

/* What claude is told about the place it works in: an agent that knows that installs vanish does not promise them, and one that
 * knows what it may sign with does not look for keys. True of every launch, or said only of those where it is. */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/plan.h"

static void print_mounts(FILE *f, const Plan *p, MountFlags mode) {
        for (size_t i = 0; i < p->n_mounts; i++) {
                const Mount *m = &p->mounts[i];
                _cleanup_free_ char *shown = str_escape(m->target);

                if (m->kind == MOUNT_BIND && (m->flags & (MOUNT_READ_ONLY | MOUNT_GUARD)) == mode)
                        (void) fprintf(f, "- %s (%s)\n", shown ?: "?", m->why);
        }
}

static void print_places(FILE *f, const Plan *p) {
        (void) fprintf(f, "What stays is what lies in these places of the user's, and nothing else:\n");
        print_mounts(f, p, 0);
        (void) fprintf(f, "These can be read and not changed:\n");
        print_mounts(f, p, MOUNT_READ_ONLY);
}

/* What git can and cannot do with its configuration read-only: as tried, in a main checkout and in a linked worktree. */
static void print_git(FILE *f) {
        (void) fprintf(f, "git's configuration and hooks cannot be changed here, and .git directories cannot be moved, because git on "
                        "the user's machine obeys them. Ordinary work is not affected: status, commit, branch, switch, rebase, stash, "
                        "merge, tag, fetch, pull, push, gc, clone, worktree add. checkout -b x --track, push -u and branch -D work and "
                        "say \"could not write config file\": the upstream is not saved, so name remote and branch (git push origin "
                        "HEAD). branch -m and submodule add get half done. git config, remote add, submodule update, init and sync, "
                        "sparse-checkout set fail: ask the user to do these.\n"
                        "Claude's own settings.json and .claude/settings.local.json are copies: changes in them are gone after the "
                        "session. The user is told at its end which files that programs on the machine obey were made or changed, "
                        "for example .envrc, .mcp.json, .vscode/tasks.json, .claude/, new .git directories.\n");
}

static void print_services(FILE *f, const Plan *p) {
        const Settings *s = p->request->settings;

        if (plan_has_service(p, SERVICE_SSH))
                (void) fprintf(f, "The user's ssh-agent can be used (SSH_AUTH_SOCK): ssh, and git over ssh, work with the user's keys. "
                                "The keys themselves are not here.\n");
        else
                (void) fprintf(f, "There is no ssh-agent and no ssh key here: git over ssh cannot log in.\n");
        if (plan_has_service(p, SERVICE_CLIPBOARD))
                (void) fprintf(f, "wl-paste prints the user's clipboard, text and pictures. Nothing can be copied there.\n");
        if (strv_env_get(p->environment, "CLAUDE_SANDBOX_INFISICAL"))
                (void) fprintf(f, "infisical is logged in. All its logins are in CLAUDE_SANDBOX_INFISICAL, as JSON: give --token and --domain "
                                "for another than the first choice.\n");
        if (s->isolation == ISOLATION_KRUN)
                (void) fprintf(f, "podman, where the image has it, runs containers as root of this machine. Those that write into the user's "
                                "places need --user \"$(id -u):$(id -g)\", else the user cannot remove what they made.\n");
        else
                (void) fprintf(f, "Containers cannot be run here.\n");
        if (!s->gpg_agent)
                (void) fprintf(f, "There is no gpg-agent here: commits are not signed.\n");
}

int plan_briefing(const Plan *p, char **ret) {
        const bool container = p->request->settings->isolation == ISOLATION_CONTAINER;
        size_t n;
        FILE *f;

        f = open_memstream(ret, &n);
        if (!f)
                return -ENOMEM;

        (void) fprintf(f, "You work in a sandbox, a %s that was made for this session and is thrown away when the session ends. You are "
                        "the user " GUEST_USER ". Packages that you install and files that you write elsewhere are gone then, so say "
                        "what a later session would need.\n", container ? "container" : "small virtual machine");
        print_places(f, p);
        print_git(f);
        (void) fprintf(f, "Nothing else of the user's home directory is here. git has the user's name and address already; "
                        "git config --global cannot save anything.\n");
        print_services(f, p);

        return fclose(f) == 0 ? 0 : -ENOMEM;
}
