/* SPDX-License-Identifier: MIT */
#pragma once

/* The guest user's home directory, whatever the image and podman's mounts have made of it. */

#include "basic/macro.h"

/* Opens the home directory, made if there is none, and gives it and the directories that were made in it for
 * the sake of mount points to the guest's user. Returns a descriptor or negative errno. */
int home_open(void);

/* Opens directory `name` below `dir_fd`, made with `mode` if there is none; the guest user's own if it was
 * root's. Returns a descriptor or negative errno; -EXDEV: it is a mount, and was left alone. */
int home_make_directory(int dir_fd, const char *name, unsigned mode);

/* Points ~/.local/bin/claude at the host's program, if that is mounted. Returns 0 or negative errno. */
int home_link_claude(int home_fd);
