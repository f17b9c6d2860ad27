/* SPDX-License-Identifier: MIT */
#pragma once

/* The guest's user: in whatever image this is, the user database says that uid 1000 is GUEST_USER with
 * GUEST_HOME. */

#include "basic/macro.h"

/* Pure: puts `line` into a passwd(5) or group(5) file so that a lookup by `id` finds it, and one by `name`
 * too: before the first line of that id or name, else at the end, but before NIS entries. Nothing is
 * removed. NULL when out of memory. */
char *account_file_insert(const char *text, const char *name, const char *id, const char *line);

/* Pure: field `index` of the first line whose field `key` (counted from 0) is `value`; NULL when there is
 * none or out of memory. */
char *account_file_field(const char *text, unsigned key, const char *value, unsigned index);

/* Makes /etc/passwd and /etc/group know the user. `*ret_shell` is its login shell. Says what failed; returns
 * negative errno only when out of memory: a sandbox whose user has no name still works for most. */
int user_prepare(char **ret_shell);
