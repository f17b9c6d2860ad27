/* SPDX-License-Identifier: MIT */
#pragma once

/* A new inode with the same content in the place of a file or directory: whatever somebody else still holds of the old one
 * (descriptors, also on their way through a socket, mappings, hard links, mounts, a virtual machine's cache) leads to nothing that has a
 * name any more. */

#include "basic/macro.h"
#include "shared/sha256.h"

#define FRESH_FILE_MAX (16 * MIB)

typedef struct FreshContent {
        bool known; /* a regular file; not of directories */
        uint8_t sha256[SHA256_SIZE];
} FreshContent;

/* `name` is a regular file or a directory, no link (-ELOOP). Somebody who saves a newer one meanwhile wins. -ENOENT: it is gone; -EFBIG: larger
 * than FRESH_FILE_MAX, or than copy-tree.h allows; -EPERM: neither file nor directory; -EBUSY: others change it all the time. 0 or
 * negative errno. */
int fresh_entry_at(int dir_fd, const char *name, FreshContent *ret);

/* Only what is in it. -ENOENT and so on as above. */
int fresh_content_at(int dir_fd, const char *name, FreshContent *ret);
