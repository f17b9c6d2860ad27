/* SPDX-License-Identifier: MIT */
#pragma once

/* Opens a regular file of the user's own for reading, who may have it as a link, to dotfiles, say. The directory that this leads to may
 * have been some sandbox's work root, in which a guest can put a link to anything. So of the links on the way one may be anybody's, and
 * all others are root's; else -ELOOP. `path` is absolute. Does not wait for a FIFO's writer. Returns a descriptor, -ENOTREG, or other
 * negative errno. */
int open_own_file(const char *path);
