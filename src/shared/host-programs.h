/* SPDX-License-Identifier: MIT */
#pragma once

/* Which programs of the host the supervisor may start for a launch's guest, and with what environment:
 * programs.json in the launch directory. The launcher writes it, from the settings and the environment that
 * it was called with; the bridge, whose requests it is for, sees that directory read-only, and the guest
 * does not see it. So what is executed never comes from a socket. */

#include "basic/macro.h"
#include "shared/paste.h"

typedef struct HostPrograms {
        char *browser;             /* absolute; NULL: the launch does not open pages */
        char *paste;               /* absolute; NULL: the launch does not read the clipboard */
        PasteProgram paste_program;
        char **environment;
} HostPrograms;

/* The display, and what a program of the desktop needs besides, out of this process's environment: 0 or
 * -ENOMEM. */
int host_programs_environment(char ***ret);

/* 0 or negative errno; -ENOENT: the launch has none. */
int host_programs_write(int dir_fd, const HostPrograms *p);
int host_programs_read(int dir_fd, HostPrograms *ret);

void host_programs_clear(HostPrograms *p);
#define _cleanup_host_programs_ _cleanup_(host_programs_clear)
