/* SPDX-License-Identifier: MIT */
#pragma once

/* What a shell can put in place of a word that is being typed. The hidden command `claude-profile __complete WORD…` prints it, and
 * the scripts in completions/ only ask that and show the answer: all they offer comes from the table that --help is printed from. */

#include "basic/macro.h"

#define COMPLETE_COMMAND "__complete" /* can be the name of no profile */

/* Words instead of a candidate: the shell's own completion of these. */
#define COMPLETE_FILES ":files"
#define COMPLETE_PROGRAMS ":programs"

/* `words` are those behind "claude-profile" up to the cursor; the last one, perhaps empty, is being typed. `*ret`, the caller's, are
 * lines "candidate\tdescription", not only those that begin as the last word does. Whatever cannot be found out is left out, silently.
 * 0 or -ENOMEM. */
int complete(char *const *words, char ***ret);

/* The same, printed. Returns an exit status. */
int complete_print(char *const *words);
