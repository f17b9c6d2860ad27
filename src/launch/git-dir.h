/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Reads how the work tree at `work_root` is tied to its git directory, from files that a guest may have written, and checks
 * that each pointer is pointed back at. `*ret_outside` becomes the git directory that must be mounted beside the work root: a
 * linked worktree's common directory, a submodule's own; NULL when all lies inside the work root or there is no repository.
 * The caller frees it. Returns 0 or negative errno, having said what is wrong. */
int git_dir_find(const char *work_root, char **ret_outside);
