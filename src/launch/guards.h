/* SPDX-License-Identifier: MIT */
#pragma once

/* The parts of plan_guards(), see the comment in plan-guards.c. All return negative errno having said what is wrong: a guard that
 * cannot be planned stops the launch. */

#include "launch/plan.h"

/* A directory that the guest gets to write. What is guarded in it is named relative to it, and found without following a link. */
typedef struct GuardPlace {
        int fd;             /* O_PATH or not */
        const char *path;   /* on the host; absolute, no link in it */
        const char *target; /* in the guest */
} GuardPlace;

/* Opens `name` ("" for the place) below `dir_fd`: an O_PATH descriptor, of a link itself in the last component. -ELOOP for a link
 * before it, or other negative errno; says nothing. */
int guard_open(int dir_fd, const char *name);

/* Whether such a thing is at `name` and can be guarded: 1; 0 if it is missing, or a link that is left. */
int guard_check(const GuardPlace *place, const char *name, const TrustedThing *thing);

/* Plans what the table says for what is there, or will be; with the directories between the place and it pinned. 0. */
int guard_apply(Plan *p, const GuardPlace *place, const char *name, const TrustedThing *thing);

/* Both. */
int guard_entry(Plan *p, const GuardPlace *place, const char *name, const TrustedThing *thing);

/* Plans something else over an entry: a file with that content (owned from entry on), a copy of the directory. */
int guard_with_data(Plan *p, const GuardPlace *place, const char *name, char *data, size_t n, const char *why);
int guard_with_copy(Plan *p, const GuardPlace *place, const char *name, bool locked, const char *why);

/* Reads a file below the place, no link followed; the caller frees. */
int guard_read(const GuardPlace *place, const char *name, char **ret, size_t *ret_n);

/* What claude and claude-profile obey in the profile. */
int guard_profile(Plan *p);

/* The git directory `name` of a place ("" for the place itself), and what is inside of it: submodules, worktrees. */
int guard_git_dir(Plan *p, const GuardPlace *place, const char *name);

/* A file `.git`, which names a git directory. */
int guard_git_file(Plan *p, const GuardPlace *place, const char *name);

/* What git's configuration names by path, read at `base` (absolute): if the guest can write it, it is guarded as `thing` says, and goes
 * into the report. */
int guard_named_path(Plan *p, const char *value, const char *base, const TrustedThing *thing);
extern const TrustedThing guard_hooks_path;
