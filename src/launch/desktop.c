/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "basic/str.h"
#include "launch/desktop.h"

const char *const desktop_browsers[] = { "google-chrome", "google-chrome-stable", "/opt/google/chrome/chrome", NULL };

PasteProgram desktop_paste_program(void) {
        if (!str_is_empty(getenv("WAYLAND_DISPLAY")))
                return PASTE_WL_PASTE;

        return str_is_empty(getenv("DISPLAY")) ? _PASTE_PROGRAM_INVALID : PASTE_XCLIP;
}

const char *desktop_paste_package(PasteProgram p) {
        return p == PASTE_WL_PASTE ? "wl-clipboard" : "xclip";
}
