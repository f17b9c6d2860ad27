/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Takes out of $PATH of this process what a guest could have filled: relative entries, and those that lie, links resolved, within
 * one of the `n` directories in `places` (NULLs allowed). Everything that is looked up later (git, gpg, podman, claude) is then a
 * program of the host. Returns 0 or -ENOMEM. */
int host_path_restrict(const char *const *places, size_t n);

/* The pure part: the entries of `path` that may stay, in their order; the caller frees. */
int host_path_filter(const char *path, const char *const *places, size_t n, char **ret);
