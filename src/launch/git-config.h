/* SPDX-License-Identifier: MIT */
#pragma once

/* Asking git about the text of a configuration file. A guest may have written it: git gets it on standard input and is asked about
 * a file's grammar, not about a repository, so nothing in it is obeyed. */

#include "basic/macro.h"

#define GIT_CONFIG_MAX (4 * MIB)

/* `git config -z ACTION PATTERN` with "--get" (the value) or "--get-regexp" (key LF value NUL, for each). Includes are not followed.
 * 1 with the answer, which has a NUL behind its `*ret_n` bytes and is the caller's; 0 if there is none; -EBADMSG if git cannot read the
 * text; -ENOENT without git; or other negative errno. */
int git_config_ask(const char *text, const char *action, const char *pattern, char **ret, size_t *ret_n);
