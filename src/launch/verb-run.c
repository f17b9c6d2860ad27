/* SPDX-License-Identifier: MIT */

#include "launch/verb-util.h"
#include "launch/verbs.h"

static int run(const Command *c) {
        return command_launch(c, c->args + 1, false);
}

const Verb verb_run = {
        .name = "run",
        .arguments = "NAME [CLAUDE ARGUMENT…]",
        .min = 1,
        .max = ANY_NUMBER,
        .flags = VERB_PROFILE | VERB_OPTIONS_FIRST,
        .help = "Launch claude with a profile",
        .details = "The same as \"claude-profile NAME …\", also for a profile that is named like a "
                   "command. From the name on everything goes to claude, untouched.",
        .run = run,
};
