/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory that becomes the guest's GUEST_BIN: a copy of the installed guest program with a link for each applet, named by
 * the program's build id, so that relabelling never touches the installed file and an update never touches a running launch. */

#include "basic/macro.h"
#include "config.h"
#include "shared/dirs.h"

#define GUEST_PROGRAM_INSTALLED PKGLIBEXECDIR "/claude-sandbox-guest"
#define BUILD_ID_MAX 64

/* `program` is the installed guest program. `*ret` is <data>/guest/<build id>, which may not exist yet; the caller frees it. Returns
 * 0 or negative errno; -ENODATA when the program carries no build id. */
int guest_program_directory(const Dirs *dirs, const char *program, char **ret);

/* Makes that directory unless it is there. Returns 0 or negative errno. */
int guest_program_install(const char *program, const char *directory);
