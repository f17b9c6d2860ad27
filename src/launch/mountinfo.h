/* SPDX-License-Identifier: MIT */
#pragma once

/* /proc/<pid>/mountinfo, see proc_pid_mountinfo(5). */

#include "basic/macro.h"

typedef struct MountInfo {
        uint64_t id, parent; /* the latter is another one's id; the root's parent is not in the table */
        unsigned major, minor;
        char *root;        /* these point into the text, unescaped */
        char *mount_point;
        bool read_only;    /* of this mount, not of the file system */
        char *type;
} MountInfo;

typedef struct MountTable {
        char *text;
        MountInfo *mounts;
        size_t n;
} MountTable;

/* `path` is e.g. "/proc/self/mountinfo". Returns 0 or negative errno; -EBADMSG for text of another form. */
int mount_table_read(const char *path, MountTable *ret);
int mount_table_parse(char *text, MountTable *ret); /* owns `text` from entry on */
void mount_table_clear(MountTable *t);
#define _cleanup_mount_table_ _cleanup_(mount_table_clear)

/* The mount that a process finds at exactly that place, or NULL if there is none, or none that can be seen: something may be mounted
 * over it, or over a directory above it. */
const MountInfo *mount_table_at(const MountTable *t, const char *mount_point);
const MountInfo *mount_table_by_id(const MountTable *t, uint64_t id);
