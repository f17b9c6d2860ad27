/* SPDX-License-Identifier: MIT */
#pragma once

/* What the user hands to a sandbox from a place of their own may be a link of theirs, to dotfiles, say. The directory that this leads to
 * may have been some sandbox's work root, in which a guest can put a link to anything. So of the links on the way one may be anybody's,
 * and all others are root's; else -ELOOP. */

/* Opens what `path`, which is absolute, leads to, with O_PATH. Returns a descriptor or negative errno. */
int open_own(const char *path);

/* The same for a regular file (else -ENOTREG), to read. */
int open_own_file(const char *path);
