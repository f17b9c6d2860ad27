/* SPDX-License-Identifier: MIT */
#pragma once

/* Which programs of the desktop sandboxes are served with. */

#include "shared/paste.h"

/* The one that reads the clipboard of the desktop that this process belongs to; _PASTE_PROGRAM_INVALID: there is none. */
PasteProgram desktop_paste_program(void);

/* What distributions call its package. */
const char *desktop_paste_package(PasteProgram p);

/* Names and paths of Google Chrome, the first that is there counts; ended by NULL. */
extern const char *const desktop_browsers[];
