/* SPDX-License-Identifier: MIT */
#pragma once

/* What of a profile can be shared with ~/.claude: commands, skills and hooks as links to its directories,
 * chosen one by one; statusline.sh always. Only a link to exactly ~/.claude/<name> is such a link. */

#include "basic/macro.h"

typedef enum LinkState {
        LINK_NONE,      /* nothing of that name */
        LINK_GLOBAL,    /* the link to ~/.claude/<name> */
        LINK_ELSEWHERE, /* a link to something else */
        LINK_DIRECTORY, /* a directory of the profile's own */
        LINK_ODD,       /* something else */
        _LINK_STATE_MAX,
} LinkState;

#define STATUSLINE "statusline.sh"

/* "commands", "skills", "hooks"; ended by NULL. */
extern const char *const profile_link_names[];

/* ~/.claude/<name>; the caller frees. NULL when out of memory. */
char *profile_link_target(const char *home, const char *name);

/* What `name` of the profile directory is. `*ret_target` (may be NULL) is where a link points to, the
 * caller's, NULL for anything else. Returns 0 or negative errno. */
int profile_link_read(int profile_fd, const char *home, const char *name, LinkState *ret, char **ret_target);

/* Makes the link, in place of nothing, of another link or of an empty directory. -ENOTEMPTY: there are files
 * of the profile's own; -EEXIST: something else is there. */
int profile_link_make(int profile_fd, const char *home, const char *name);
