/* SPDX-License-Identifier: MIT */
#pragma once

/* The state of what the host trusts, at one moment: taken before a guest starts and after it has ended, and compared
 * (trust-changes.h). In between it lies in the launch directory.
 *
 * Everything is looked at by descriptor, below its root, through no link. What a guest can make as large as it likes is bounded;
 * where a bound cuts, an item TRUST_ITEM_CUT stands for what was left out. A guest can set a file's mtime, but not its ctime: a
 * file whose inode, ctime and size are the same is the same. */

#include "basic/macro.h"
#include "shared/sha256.h"
#include "shared/tree-scan.h"
#include "shared/trust-scope.h"

#define TRUST_ITEMS_MAX ((size_t) 50000)
#define TRUST_PATHS_MAX (8 * MIB)              /* bytes of all paths */
#define TRUST_DIRECTORY_MAX ((size_t) 4096)    /* entries of one thing that is a directory */
#define TRUST_HASHED_FILE_MAX (128 * KIB)      /* larger files are compared by their ctime */
#define TRUST_HASHED_MAX (16 * MIB)            /* of all files; beyond it, likewise */

typedef enum TrustItemType {
        TRUST_ITEM_FILE,
        TRUST_ITEM_LINK,       /* its target as text; or a link stands above it */
        TRUST_ITEM_OTHER,      /* a FIFO, a socket… */
        TRUST_ITEM_REPOSITORY, /* a directory that git takes for its own: that it is there */
        TRUST_ITEM_DIRECTORY,  /* a place of other items, nothing by itself */
        TRUST_ITEM_CLOSED,     /* cannot be read */
        TRUST_ITEM_FACT,       /* something that claude's configuration says */
        TRUST_ITEM_CUT,        /* a bound was reached here */
        _TRUST_ITEM_TYPE_MAX,
} TrustItemType;

/* Things that stand in no row of `trusted_things`: numbered behind its rows. */
typedef enum TrustExtra {
        TRUST_EXTRA_REPORT_PATH,
        TRUST_EXTRA_NAMED,    /* by git's configuration */
        TRUST_EXTRA_BARE,
        TRUST_EXTRA_CLOSED,
        TRUST_EXTRA_CONFIG,   /* claude's configuration as a whole */
        TRUST_EXTRA_SERVER,   /* and in it: an MCP server */
        TRUST_EXTRA_APPROVED, /* MCP servers of a project that need no question */
        TRUST_EXTRA_TRUSTED,  /* a directory that needs no question */
        TRUST_EXTRA_OBEYED,   /* variables, programs */
        TRUST_EXTRA_LINK,     /* in the profile: claude would write through it */
        TRUST_EXTRA_LIMIT,
        _TRUST_EXTRA_MAX,
} TrustExtra;

typedef struct TrustItem {
        unsigned root;   /* TrustRoot and above */
        unsigned thing;  /* row of `trusted_things`, or behind them a TrustExtra */
        TrustItemType type;
        bool executable;
        bool hashed;     /* `digest` holds the content's */
        uint64_t size, inode, ctime_nsec;
        uint8_t digest[SHA256_SIZE];
        char *path;      /* below the root, any bytes */
} TrustItem;

typedef struct TrustSnapshot {
        TrustItem *items; /* sorted by root and path */
        size_t n, allocated;
        size_t path_bytes;
} TrustSnapshot;

unsigned trust_extra(TrustExtra extra);

/* Who on the host obeys it, a few words. */
const char *trust_item_why(const TrustItem *item);

/* Takes a snapshot. `tree` is a scan of the work root; NULL: makes one itself. `before` is an earlier snapshot of the same launch
 * or NULL: only repositories that it has are looked into, and files that did not change since are not read again. Returns 0 or
 * negative errno; -ENOENT: there is no profile or work root any more. */
int trust_snapshot_take(const TrustScope *scope, const TreeScan *tree, const TrustSnapshot *before, TrustSnapshot *ret);
void trust_snapshot_clear(TrustSnapshot *s);
#define _cleanup_trust_snapshot_ _cleanup_(trust_snapshot_clear)

/* Adds an item, owning `item->path` (NULL: -ENOMEM) from entry on. At the bounds: adds an item that says so, once. 0 or -ENOMEM. */
int trust_snapshot_add(TrustSnapshot *s, const TrustItem *item);

/* Sorts, and keeps one item of each path. */
void trust_snapshot_sort(TrustSnapshot *s);

/* In a sorted snapshot (NULL allowed), the item of that place; `cut`: the TRUST_ITEM_CUT there. NULL: no such item. */
const TrustItem *trust_snapshot_find(const TrustSnapshot *s, unsigned root, const char *path, bool cut);
int trust_item_compare(const TrustItem *a, const TrustItem *b);

/* As bytes and back. The caller frees. 0, -ENOMEM, and -EBADMSG for what trust_snapshot_format() does not print. */
int trust_snapshot_format(const TrustSnapshot *s, char **ret, size_t *ret_n);
int trust_snapshot_parse(const char *data, size_t n, TrustSnapshot *ret);

/* trust-before in a launch directory. 0 or negative errno. */
int trust_snapshot_write(int dir_fd, const TrustSnapshot *s);
int trust_snapshot_read(int dir_fd, TrustSnapshot *ret);
