/* SPDX-License-Identifier: MIT */
#pragma once

/* What the manager is told of one sandboxed profile, as the text of unit files. Pure. */

#include "basic/macro.h"
#include "shared/limits.h"

typedef struct ProfileUnits {
        const char *profile;       /* its name */
        const char *path;          /* its directory */
        const char *settings_file; /* where the limits come from; NULL: there is no such file */
        Limits limits;             /* of all its launches together */
} ProfileUnits;

/* Its slice, and the drop-in for its supervisor. Return 0 or -ENOMEM; the caller frees. */
int render_slice(const ProfileUnits *p, char **ret);
int render_supervisor(const ProfileUnits *p, char **ret);
