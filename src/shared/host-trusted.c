/* SPDX-License-Identifier: MIT */

/* Between blocked, thrown away and reported the choice was made so:
 *
 *   blocked      what the host runs or obeys without asking anybody, and no work in a sandbox has to change
 *   thrown away  the same, but programs in the guest fail, or nag, when they cannot write it
 *   reported     what people ask an agent to write; a look at a list of names is the price
 *
 * Instructions (commands, skills, agents, CLAUDE.md) are the third kind: they steer claude on the host, within what the user lets
 * claude do there. */

#include <string.h>

#include "basic/str.h"
#include "shared/host-trusted.h"

const TrustedThing trusted_things[] = {
        { TRUST_PROFILE, "settings.json", TRUST_COPY, false, TRUST_LINK_REPLACED, "{}\n",
                "claude: hooks, status line, permissions" },
        { TRUST_PROFILE, "remote-settings.json", TRUST_COPY, false, TRUST_LINK_REFUSED, NULL,
                "claude: an organization's settings, as last fetched" },
        { TRUST_PROFILE, ".env", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, "",
                "claude-profile: variables of every launch, LD_PRELOAD for one" },
        { TRUST_PROFILE, ".sandbox", TRUST_READ_ONLY, false, TRUST_LINK_REPLACED, NULL,
                "claude-profile: whether launches are sandboxed" },
        { TRUST_PROFILE, "chrome", TRUST_EMPTY, true, TRUST_LINK_REPLACED, NULL,
                "Chrome: the program that it starts for claude's extension" },
        { TRUST_PROFILE, "shell-snapshots", TRUST_EMPTY, true, TRUST_LINK_REPLACED, NULL,
                "claude: shell code before each command of a running session" },
        { TRUST_PROFILE, "session-env", TRUST_EMPTY, true, TRUST_LINK_REPLACED, NULL,
                "claude: shell code before each command of a running session" },
        { TRUST_PROFILE, "hooks", TRUST_READ_ONLY, true, TRUST_LINK_LEFT, NULL, "claude: programs that settings.json names" },
        { TRUST_PROFILE, "plugins", TRUST_READ_ONLY, true, TRUST_LINK_LEFT, NULL, "claude: programs and hooks of plugins" },
        { TRUST_PROFILE, "local", TRUST_READ_ONLY, true, TRUST_LINK_LEFT, NULL, "shells: claude itself, installed there" },
        { TRUST_PROFILE, "statusline.sh", TRUST_READ_ONLY, false, TRUST_LINK_LEFT, NULL, "claude: runs it all the time" },
        { TRUST_PROFILE, "daemon.json", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, NULL,
                "claude: sessions that its service starts in the background, unasked" },
        { TRUST_PROFILE, "daemon", TRUST_EMPTY, true, TRUST_LINK_REPLACED, NULL,
                "claude: sessions that its service starts in the background, unasked" },
        { TRUST_PROFILE, "jobs", TRUST_EMPTY, true, TRUST_LINK_REPLACED, NULL,
                "claude: commands and permissions of sessions in the background" },
        { TRUST_PROFILE, "commands", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "claude: instructions, and commands in them" },
        { TRUST_PROFILE, "skills", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "claude: instructions and programs" },
        { TRUST_PROFILE, "agents", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "claude: instructions, hooks and permissions" },
        { TRUST_PROFILE, "output-styles", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "claude: instructions" },
        { TRUST_PROFILE, "rules", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "claude: instructions" },
        { TRUST_PROFILE, "workflows", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "claude: instructions and programs" },
        { TRUST_PROFILE, "CLAUDE.md", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "claude: instructions of every session" },
        { TRUST_PROFILE, "keybindings.json", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "claude: what keys do" },

        { TRUST_GIT, "config", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, NULL,
                "git: programs (fsmonitor, pagers, filters, ssh), where hooks are" },
        { TRUST_GIT, "config.worktree", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, NULL, "git: the same" },
        { TRUST_GIT, "commondir", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, NULL, "git: where config and hooks are" },
        { TRUST_GIT, "gitdir", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, NULL, "git: which work tree this one is of" },
        { TRUST_GIT, "hooks", TRUST_COPY, true, TRUST_LINK_REFUSED, NULL, "git: programs" },
        { TRUST_GIT, "info/attributes", TRUST_READ_ONLY, false, TRUST_LINK_REFUSED, NULL,
                "git: which filters run on which files" },
        { TRUST_GIT, "worktrees/…", TRUST_COPY, true, TRUST_LINK_REFUSED, NULL,
                "git: the user's other worktrees, which prune and gc would destroy" },
        { TRUST_GIT, "rebase-merge/git-rebase-todo", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL,
                "git rebase --continue: lines that say exec" },
        { TRUST_GIT, "remotes", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "git: where fetch and push go" },
        { TRUST_GIT, "branches", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "git: where fetch and push go" },

        { TRUST_WORK, ".claude/settings.local.json", TRUST_COPY, false, TRUST_LINK_REFUSED, NULL,
                "claude: hooks and permissions in this directory" },

        { TRUST_TREE, ".git", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "git, and prompts that ask it: programs of its config" },
        { TRUST_TREE, ".claude", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "claude: settings, hooks, instructions" },
        { TRUST_TREE, ".mcp.json", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "claude: programs that it starts as MCP servers" },
        { TRUST_TREE, ".envrc", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "direnv: shell code" },
        { TRUST_TREE, ".vscode/tasks.json", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "editors: programs" },
        { TRUST_TREE, ".vscode/settings.json", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "editors: paths of programs" },
        { TRUST_TREE, ".vscode/launch.json", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "editors: programs" },
        { TRUST_TREE, ".idea", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "editors: programs" },
        { TRUST_TREE, ".devcontainer", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "editors: containers and what runs in them" },
        { TRUST_TREE, ".devcontainer.json", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "editors: the same" },
        { TRUST_TREE, ".gitattributes", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "git: which filters run on which files" },
        { TRUST_TREE, ".gitmodules", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL, "git: which other repositories it fetches" },
        { TRUST_TREE, ".husky", TRUST_REPORT, true, TRUST_LINK_LEFT, NULL, "husky: programs that git runs as hooks" },
        { TRUST_TREE, ".pre-commit-config.yaml", TRUST_REPORT, false, TRUST_LINK_LEFT, NULL,
                "pre-commit: programs that git runs as hooks" },
};
const size_t n_trusted_things = ELEMENTSOF(trusted_things);

static const char *const place_names[] = {
        [TRUST_PROFILE] = "profile",
        [TRUST_GIT] = "git directory",
        [TRUST_WORK] = "work root, launch directory",
        [TRUST_TREE] = "anywhere in the work root",
};
static_assert(ELEMENTSOF(place_names) == _TRUST_PLACE_MAX, "a name for each place");

static const char *const treatment_names[] = {
        [TRUST_READ_ONLY] = "read-only",
        [TRUST_COPY] = "copy, thrown away",
        [TRUST_EMPTY] = "empty, thrown away",
        [TRUST_REPORT] = "reported",
};
static_assert(ELEMENTSOF(treatment_names) == _TRUST_TREATMENT_MAX, "a name for each treatment");

const char *trust_place_to_string(TrustPlace place) {
        return place_names[place];
}

const char *trust_treatment_to_string(TrustTreatment treatment) {
        return treatment_names[treatment];
}

bool trust_tree_name(const char *name) {
        if (name[0] != '.') /* as all of them begin; most names do not */
                return false;

        for (size_t i = 0; i < n_trusted_things; i++) {
                const char *rest;

                if (trusted_things[i].place != TRUST_TREE)
                        continue;
                rest = str_after_prefix(trusted_things[i].name, name);
                if (rest && (*rest == '\0' || *rest == '/'))
                        return true;
        }

        return false;
}
