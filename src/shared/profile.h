/* SPDX-License-Identifier: MIT */
#pragma once

/* Profiles: names, places, the marker. The profile directory is written by its sandboxes: whatever is opened
 * below it is opened by descriptor, and no link in it is followed. */

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/settings.h"

#define PROFILE_NAME_MAX 100
#define PROFILE_MARKER ".sandbox"
#define PROFILE_ENV_FILE ".env"

/* [A-Za-z0-9][A-Za-z0-9._-]*, at most 100 characters, every unit name made from it within 255 characters, no
 * unit suffix at its end, not "shared-settings.json". Whether a command has the same name does not matter
 * here. */
bool profile_name_is_valid(const char *name);

typedef struct Profile {
        char *name;
        char *path; /* <base>/<name> */
        int fd;     /* the directory, O_PATH */
} Profile;

/* Opens an existing profile. -EINVAL: no valid name; -ENOENT: no such profile; -ENOTDIR: a link or no
 * directory. */
int profile_open(const Settings *settings, const char *name, Profile **ret);
Profile *profile_free(Profile *p);
DEFINE_CLEANUP(Profile *, profile_free);
#define _cleanup_profile_ _cleanup_(profile_freep)

/* Whether the marker `.sandbox` is there; anything of that name counts, a dangling link too. Negative errno:
 * could not be told, and the caller must not launch on the host. */
int profile_has_marker(const Profile *p);

/* Whether a launch uses the sandbox: the setting, else the marker. 1, 0, or negative errno. */
int profile_is_sandboxed(const Profile *p, const Settings *settings);

/* Whether a sandbox of it ever ran, by what is kept in the data directory, or may run: the marker. Not to be
 * told: true. */
bool profile_was_ever_sandboxed(const Profile *p, const Dirs *dirs);

/* The names of all profiles, sorted; none when there is no base yet. `*ret_odd` are sentences about what
 * lies there and could be taken for a profile: links, directories whose names none can have. Both are the
 * caller's. Returns 0 or negative errno. */
int profile_list(const Settings *settings, char ***ret_names, char ***ret_odd);
