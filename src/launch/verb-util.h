/* SPDX-License-Identifier: MIT */
#pragma once

/* What several commands need. Everything here that returns negative errno has said why. */

#include "launch/launch-list.h"
#include "launch/verb.h"
#include "shared/profile.h"

/* Opens the profile that the first argument names. */
int command_open_profile(const Command *c, Profile **ret);

/* Takes the lock under which profiles are changed: a descriptor. */
int command_lock(const Command *c);

/* Whether a sandboxed launch of the profile runs: 1 or 0. */
int command_is_running(const Command *c, const char *profile);

/* Makes the user manager, if there is one, see at once which profiles are sandboxed. */
void command_reload_manager(const Command *c);

/* Launches claude, or with `shell` the command in `args`, with the profile that the first argument names,
 * where that is to run, and the limits that options --property give it. Returns the exit status or negative errno. */
int command_launch(const Command *c, char *const *args, bool shell);

/* The launches that run, of which `word` (as launch_list_select() takes it) or all are left; the bus, when there is one. 0 or negative
 * errno, having said why. */
int command_launches(const Command *c, const char *word, LaunchList *ret, sd_bus **ret_bus);

/* Whether there is somebody to ask: standard input and standard error are terminals. */
bool can_ask(void);

/* Asks on standard error until the answer is yes or no; an empty one is `fallback`. 1, 0, or -ECANCELED
 * (said) at the end of the input. */
int ask(bool fallback, const char *format, ...) _printf_(2, 3);

/* The file `name` of the profile directory, for messages; the caller frees. NULL when out of memory. */
char *profile_file(const Profile *p, const char *name);
