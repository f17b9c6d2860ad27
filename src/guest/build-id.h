/* SPDX-License-Identifier: MIT */
#pragma once

/* The build id that the linker left in this program (a note, see ld(1) --build-id): it names the copy of the
 * program that a sandbox mounts. */

#include "basic/macro.h"

#define BUILD_ID_MAX (2 * 32 + 1)

/* Prints the build id as hexadecimal digits into `buf` (BUILD_ID_MAX bytes) and returns it; "unknown" when
 * there is none. */
const char *build_id_get(char *buf);
