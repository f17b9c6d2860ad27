/* SPDX-License-Identifier: MIT */

#include <signal.h>
#include <unistd.h>

#include "launch/terminal.h"

void terminal_save(TerminalModes *t) {
        t->saved = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &t->modes) >= 0;
}

void terminal_restore(const TerminalModes *t) {
        void (*before)(int);

        if (!t->saved)
                return;

        /* In the background this would stop us. */
        before = signal(SIGTTOU, SIG_IGN);
        (void) tcsetattr(STDIN_FILENO, TCSANOW, &t->modes);
        (void) signal(SIGTTOU, before);
}
