/* SPDX-License-Identifier: MIT */
#pragma once

/* The commands, each in its file verb-<name>.c, and the table of them. */

#include "launch/verb.h"

extern const Verb verb_add;
extern const Verb verb_build;
extern const Verb verb_doctor;
extern const Verb verb_env;
extern const Verb verb_links;
extern const Verb verb_list;
extern const Verb verb_logs;
extern const Verb verb_ps;
extern const Verb verb_remove;
extern const Verb verb_run;
extern const Verb verb_sandbox;
extern const Verb verb_sandbox_cache;
extern const Verb verb_sandbox_skill;
extern const Verb verb_settings;
extern const Verb verb_shell;
extern const Verb verb_stop;

/* All commands, ended by NULL: for the dispatcher, and for `add`, which refuses their names. */
extern const Verb *const verb_table[];

const Verb *verb_find(const char *name);
