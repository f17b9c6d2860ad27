/* SPDX-License-Identifier: MIT */
#pragma once

/* Where this user's things are. All paths are absolute; nothing is created here. */

#include "basic/macro.h"

typedef struct Dirs {
        char *home;         /* $HOME, else the user database */
        char *config;       /* ${XDG_CONFIG_HOME:-~/.config}/claude-profile */
        char *data;         /* ${XDG_DATA_HOME:-~/.local/share}/claude-profile */
        char *runtime_root; /* $XDG_RUNTIME_DIR, only if it is a directory of this user's; else NULL */
        char *runtime;      /* $XDG_RUNTIME_DIR/claude-profile, or NULL */
} Dirs;

/* Returns 0, -ENOMEM, or -ENXIO when there is no usable home directory. XDG variables that are not absolute
 * are ignored, as the base directory specification demands. */
int dirs_load(Dirs **ret);

/* The same by the environment alone: the user database may be on another machine, which may not answer. */
int dirs_load_from_environment(Dirs **ret);

Dirs *dirs_free(Dirs *d);
DEFINE_CLEANUP(Dirs *, dirs_free);
#define _cleanup_dirs_ _cleanup_(dirs_freep)

/* An absolute path without empty and "." components and without a slash at its end. Returns 0, -ENOMEM, or
 * -EINVAL for a path that is relative or holds "..": what that names depends on links. */
int path_normalize(const char *path, char **ret);
