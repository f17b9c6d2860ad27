/* SPDX-License-Identifier: MIT */
#pragma once

/* Looking for host-trusted names in a work tree: one pass over its directories that opens no file. A guest may have written the
 * tree, and write it meanwhile: no link is followed, and size and depth are bounded. Directories near the root come first, so what
 * a bound leaves out lies deep. */

#include "basic/macro.h"

#define TREE_ENTRIES_MAX ((size_t) 1000000)
#define TREE_FOUND_MAX ((size_t) 20000)
#define TREE_PATHS_MAX (64 * MIB)              /* bytes of paths, found or still to be read */
#define TREE_LOOKUPS_MAX ((size_t) 4000000)    /* of names, on the way to directories; some 300,000 of those */

typedef enum TreeFindingKind {
        TREE_NAMED, /* an entry with a name of a TRUST_TREE thing's first component */
        TREE_BARE,  /* a directory that git takes for a repository without `.git`: it has HEAD, and objects and refs or else commondir */
        TREE_CLOSED, /* a directory that this user cannot read */
        TREE_LINK,  /* a symbolic link, whatever its name: of tree_scan_links() only */
} TreeFindingKind;

typedef struct TreeFinding {
        TreeFindingKind kind;
        unsigned char type; /* as in readdir(3): DT_REG, DT_DIR, DT_LNK… */
        char *path;         /* relative to the root; "" is the root itself (not TREE_NAMED) */
} TreeFinding;

typedef struct TreeScan {
        TreeFinding *found; /* in the order of their depth */
        size_t n, allocated;
        size_t entries;     /* looked at */
        size_t lookups, path_bytes; /* spent, of what is bounded */
        bool cut;           /* a bound was reached: deeper directories were not looked at */
} TreeScan;

/* Whether git takes that directory for a repository, whatever its name. */
bool tree_is_repository(int dir_fd);

/* Directories named `.git` are found, and not entered. Returns 0 or negative errno. */
int tree_scan(int root_fd, TreeScan *ret);

/* The same, with all links. */
int tree_scan_links(int root_fd, TreeScan *ret);
void tree_scan_clear(TreeScan *s);
#define _cleanup_tree_scan_ _cleanup_(tree_scan_clear)
