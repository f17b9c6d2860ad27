/* SPDX-License-Identifier: MIT */

#include "basic/str.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"

static int run(const Command *c) {
        char *const *args = c->args + 1;

        if (*args && streq(*args, "--"))
                args++;
        else if (*args && **args == '-')
                return usage_error(
                                c->verb, "options stand before the profile, and \"--\" before the command");

        return command_launch(c, args, true);
}

static const Option options[] = {
        { 'p', "property", "LIMIT", "Limit it, as in MemoryMax=4G or CPUQuota=150%" },
        {},
};

const Verb verb_shell = {
        .name = "shell",
        .arguments = "NAME [-- COMMAND…]",
        .min = 1,
        .max = ANY_NUMBER,
        .flags = VERB_PROFILE | VERB_OPTIONS_FIRST,
        .options = options,
        .help = "Launch a shell, or a command, instead of claude",
        .details = "A launch of its own, with all that claude would get: the same sandbox, the same "
                   "variables.",
        .run = run,
};
