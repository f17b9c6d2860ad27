/* SPDX-License-Identifier: MIT */

#include "launch/verb-util.h"
#include "launch/verbs.h"

static int run(const Command *c) {
        if (command_has(c, "json") && !command_has(c, "dry-run"))
                return usage_error(c->verb, "--json goes with --dry-run");

        return command_launch(c, c->args + 1, false);
}

static const Option options[] = {
        { 'n', "dry-run", NULL, "Show what a launch would do, and start nothing" },
        { 'p', "property", "LIMIT", "Limit it, as in MemoryMax=4G or CPUQuota=150%" },
        { 0, "json", NULL, "With --dry-run: as JSON" },
        {},
};

const Verb verb_run = {
        .name = "run",
        .arguments = "NAME [CLAUDE ARGUMENT…]",
        .min = 1,
        .max = ANY_NUMBER,
        .flags = VERB_PROFILE | VERB_OPTIONS_FIRST,
        .options = options,
        .help = "Launch claude with a profile",
        .details = "The same as \"claude-profile NAME …\", also for a profile that is named like a "
                   "command. From the name on everything goes to claude, untouched.",
        .run = run,
};
