/* SPDX-License-Identifier: MIT */

#include "basic/str.h"
#include "launch/verbs.h"

/* In the order in which --help shows them. */
const Verb *const verb_table[] = {
        &verb_add,
        &verb_list,
        &verb_remove,
        &verb_links,
        &verb_env,
        &verb_sandbox,
        &verb_run,
        &verb_shell,
        &verb_ps,
        &verb_stop,
        &verb_logs,
        &verb_settings,
        &verb_doctor,
        &verb_build,
        &verb_sandbox_cache,
        &verb_sandbox_skill,
        NULL,
};

const Verb *verb_find(const char *name) {
        for (const Verb *const *v = verb_table; *v; v++)
                if (streq((*v)->name, name))
                        return *v;

        return NULL;
}
