/* SPDX-License-Identifier: MIT */
#pragma once

/* Takes from this process, for good, all of the file system, by Landlock: what it opens from now on cannot be read,
 * written or made, and no directory listed but those of `directories` (paths, a NULL at the end) and below them. One that
 * is not there now is left out. What is open stays; so does connect(2) to a socket by its path, which Landlock does not
 * govern. Where the kernel can, TCP, abstract sockets and signals to other processes go as well.
 *
 * The unit cannot do it: agents' sockets lie in the home directory, which therefore must be there, with the user's files.
 *
 * Wants no_new_privs (seal.h). Returns 1 when that is done, or negative errno: -EOPNOTSUPP when there is no Landlock,
 * because of the kernel, its command line or a filter around us. */
int seal_files(const char *const *directories);
