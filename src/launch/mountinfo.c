/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/mountinfo.h"

#define MOUNTINFO_MAX (64 * MIB)

/* The kernel writes space, tab, newline and backslash as three octal digits. */
static void unescape(char *s) {
        char *out = s;

        for (; *s; s++) {
                if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
                        *out++ = (char) ((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
                        s += 3;
                } else
                        *out++ = *s;
        }
        *out = '\0';
}

static bool has_option(const char *options, const char *wanted) {
        size_t n = strlen(wanted);

        for (const char *s = options; s; s = strchr(s, ',')) {
                s += *s == ',';
                if (strncmp(s, wanted, n) == 0 && (s[n] == ',' || s[n] == '\0'))
                        return true;
        }

        return false;
}

/* 36 35 98:0 /root /mount/point rw,noatime shared:1 - ext3 /dev/root rw,errors=continue */
static int parse_line(char *line, MountInfo *ret) {
        char *fields[6], *save = NULL, *separator;
        MountInfo m;
        int end = 0;

        separator = strstr(line, " - ");
        if (!separator)
                return -EBADMSG;
        *separator = '\0';
        m.type = separator + strlen(" - ");
        m.type[strcspn(m.type, " ")] = '\0';

        for (size_t i = 0; i < ELEMENTSOF(fields); i++) {
                fields[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
                if (!fields[i])
                        return -EBADMSG;
        }

        if (parse_uint(fields[0], 0, UINT64_MAX, &m.id) < 0 || parse_uint(fields[1], 0, UINT64_MAX, &m.parent) < 0 ||
                        sscanf(fields[2], "%u:%u%n", &m.major, &m.minor, &end) != 2 || fields[2][end] != '\0')
                return -EBADMSG;
        m.root = fields[3];
        m.mount_point = fields[4];
        m.read_only = has_option(fields[5], "ro");
        unescape(m.root);
        unescape(m.mount_point);

        *ret = m;
        return 0;
}

int mount_table_parse(char *text, MountTable *ret) {
        _cleanup_mount_table_ MountTable t = { .text = text };
        size_t allocated = 0;
        char *line;

        while ((line = strsep(&text, "\n"))) {
                int r;

                if (*line == '\0')
                        continue;
                r = grow(&t.mounts, &allocated, t.n + 1, sizeof(MountInfo));
                if (r >= 0)
                        r = parse_line(line, &t.mounts[t.n]);
                if (r < 0)
                        return r;
                t.n++;
        }

        *ret = t;
        t = (MountTable) { 0 };
        return 0;
}

int mount_table_read(const char *path, MountTable *ret) {
        _cleanup_close_ int fd = -EBADF;
        char *text;
        int r;

        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = io_read_all(fd, MOUNTINFO_MAX, &text, NULL);
        if (r < 0)
                return r;

        return mount_table_parse(text, ret);
}

void mount_table_clear(MountTable *t) {
        free(t->text);
        free(t->mounts);
        *t = (MountTable) { 0 };
}

static const MountInfo *find_root(const MountTable *t) {
        for (size_t i = 0; i < t->n; i++)
                if (streq(t->mounts[i].mount_point, "/") && !mount_table_by_id(t, t->mounts[i].parent))
                        return &t->mounts[i];

        return NULL;
}

/* The mount on `below` that the way to `path` meets first. Of two, one below the other's mount point, it is the upper one: the lower
 * one is hidden by it. */
static const MountInfo *next_on_way(const MountTable *t, const MountInfo *below, const char *path) {
        const MountInfo *first = NULL;

        for (size_t i = 0; i < t->n; i++) {
                const MountInfo *m = &t->mounts[i];

                if (m->parent != below->id || m == below || !path_is_within(path, m->mount_point))
                        continue;
                if (!first || strlen(m->mount_point) < strlen(first->mount_point))
                        first = m;
        }

        return first;
}

/* The order of the lines says nothing: the kernel sorts them by when a mount was made, not by when it was put in its place. */
const MountInfo *mount_table_at(const MountTable *t, const char *mount_point) {
        const MountInfo *m = find_root(t);

        for (size_t i = 0; m && i <= t->n; i++) {
                const MountInfo *next = next_on_way(t, m, mount_point);

                if (!next)
                        return streq(m->mount_point, mount_point) ? m : NULL;
                m = next;
        }

        return NULL;
}

const MountInfo *mount_table_by_id(const MountTable *t, uint64_t id) {
        for (size_t i = 0; i < t->n; i++)
                if (t->mounts[i].id == id)
                        return &t->mounts[i];

        return NULL;
}
