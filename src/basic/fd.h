/* SPDX-License-Identifier: MIT */
#pragma once

/* File descriptors: close-on-exec from birth, -EBADF when there is none. */

#include "basic/macro.h"

/* Closes `fd` unless negative; keeps errno. Returns -EBADF, for assignment. */
int fd_close(int fd);

static inline void fd_closep(int *fd) {
        fd_close(*fd);
}
#define _cleanup_close_ _cleanup_(fd_closep)

/* Each returns 0 or negative errno. */
int fd_set_nonblock(int fd, bool nonblock);
int fd_set_cloexec(int fd, bool cloexec);

/* Closes every descriptor from `first` on. Returns 0 or negative errno. */
int fd_close_from(int first);

/* Whether the other end of a connected Unix socket was made by this user: a path may have been taken over by another since its
 * maker died. */
bool fd_peer_is_this_user(int fd);

/* Puts /dev/null where standard input, output or error is closed, so that no later open lands there. Returns 0 or
 * negative errno. */
int fd_fill_stdio(void);
