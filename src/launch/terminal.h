/* SPDX-License-Identifier: MIT */
#pragma once

#include <termios.h>

#include "basic/macro.h"

/* The modes of the terminal on standard input: podman changes them, and cannot put them back when it is killed. */
typedef struct TerminalModes {
        bool saved;
        struct termios modes;
} TerminalModes;

void terminal_save(TerminalModes *t);
void terminal_restore(const TerminalModes *t);
