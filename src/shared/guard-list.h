/* SPDX-License-Identifier: MIT */
#pragma once

/* The guards of one launch: the mounts that lie over host-trusted entries. The launcher writes them into the launch directory
 * (guards.json), where no guest sees them, for the supervisor, which keeps them in place (a mount falls off when somebody renames
 * over, or removes, the entry below it). */

#include "basic/macro.h"

typedef struct Guard {
        char *path;      /* the guarded entry, on the host; absolute, no link in it */
        char *source;    /* what lies over it, on the host: `path` itself, or something in the launch directory */
        char *target;    /* where the guest sees it; in the work root the same as `path` */
        bool read_only;
        bool pin;        /* only so that the directory cannot be renamed: what is in it may be changed */
} Guard;

typedef struct GuardList {
        Guard *guards;
        size_t n, allocated;
} GuardList;

/* Copies its arguments. 0 or -ENOMEM. */
int guard_list_add(GuardList *l, const Guard *g);
void guard_list_clear(GuardList *l);
#define _cleanup_guard_list_ _cleanup_(guard_list_clear)

/* guards.json in a launch directory. 0 or negative errno; reading checks every field (-EBADMSG). */
int guard_list_write(int dir_fd, const GuardList *l);
int guard_list_read(int dir_fd, GuardList *ret);
