/* SPDX-License-Identifier: MIT */
#pragma once

/* Whole reads and writes on blocking descriptors. */

#include <sys/types.h>

#include "basic/macro.h"

/* Writes all `n` bytes. Returns 0 or negative errno. */
int io_write_all(int fd, const void *buf, size_t n);

/* Reads up to the end of file. More than `max` bytes: -EFBIG. `*ret` is the caller's and has a NUL behind its `*ret_n`
 * bytes. Returns 0 or negative errno. */
int io_read_all(int fd, size_t max, char **ret, size_t *ret_n);

/* Opens `path` below `dir_fd` (AT_FDCWD allowed) without following a link in its last component, checks that it is a
 * regular file, and reads it as io_read_all() does. Not a regular file: -ENOTREG (see macro below); a link: -ELOOP. */
int io_read_file_at(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_n);

/* Opens an absolute path for reading; a link anywhere in it: -ELOOP. Does not wait for a FIFO's writer. Returns a descriptor
 * or negative errno. */
int io_open_no_links(const char *path);

/* Opens `path` ("" is the directory itself) below `dir_fd`, by no link and by no ".." out of it. With O_PATH | O_NOFOLLOW in `flags` a link in
 * the last component is opened itself; else a link anywhere: -ELOOP. Close-on-exec. Returns a descriptor or negative errno. */
int io_open_beneath(int dir_fd, const char *path, int flags);

/* Creates `path` below `dir_fd` with exactly `mode`; it must not exist. Returns 0 or negative errno. */
int io_write_new_at(int dir_fd, const char *path, mode_t mode, const void *buf, size_t n);

/* What io_read_file_at() says of something that is no regular file. */
#define ENOTREG EMEDIUMTYPE
