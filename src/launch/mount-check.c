/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/mount-check.h"
#include "launch/mountinfo.h"

#define COMM_LENGTH 15 /* the kernel cuts a process's name */

/* Where `source` lies in its file system, in the terms of mountinfo: the mount it is on, and its path from that file system's
 * root. */
static int locate(const MountTable *own, const char *source, const MountInfo **ret_mount, char **ret_root) {
        _cleanup_close_ int fd = -EBADF;
        const MountInfo *m;
        const char *rest;
        struct statx sx;

        fd = open(source, O_PATH | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        if (statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &sx) < 0)
                return -errno;
        if (!(sx.stx_mask & STATX_MNT_ID))
                return -EOPNOTSUPP;

        m = mount_table_by_id(own, sx.stx_mnt_id);
        if (!m)
                return -ENOENT;
        rest = streq(m->mount_point, "/") ? source + 1 : source + strlen(m->mount_point);
        if (!path_is_within(source, m->mount_point))
                return -EXDEV;
        while (*rest == '/')
                rest++;

        *ret_root = *rest == '\0' ? strdup(m->root) : path_join(m->root, rest);
        if (!*ret_root)
                return -ENOMEM;
        *ret_mount = m;
        return 0;
}

/* Where an image has a link at the target, the mount is where that leads. Only of what is read-only anyway. */
static const MountInfo *find_elsewhere(const MountTable *guest, const MountInfo *source, const char *root) {
        for (size_t i = 0; i < guest->n; i++) {
                const MountInfo *m = &guest->mounts[i];

                if (m->major == source->major && m->minor == source->minor && streq(m->root, root) && m->read_only)
                        return m;
        }

        return NULL;
}

static int check_one(const MountTable *own, const MountTable *guest, const Mount *planned, const char **ret_fault) {
        _cleanup_free_ char *root = NULL;
        const MountInfo *is, *source = NULL;
        int r;

        if (planned->kind != MOUNT_TMPFS) {
                r = locate(own, planned->source, &source, &root);
                if (r < 0)
                        return r;
        }

        is = mount_table_at(guest, planned->target);
        if (!is && planned->flags & MOUNT_LINKED)
                is = find_elsewhere(guest, source, root);
        if (!is) {
                *ret_fault = "nothing is mounted there";
                return -EPERM;
        }
        if (is->read_only != !!(planned->flags & MOUNT_READ_ONLY)) {
                *ret_fault = is->read_only ? "it is read-only" : "it can be written";
                return -EPERM;
        }
        if (planned->kind == MOUNT_TMPFS) {
                *ret_fault = "it is no tmpfs of its own";
                return streq(is->type, "tmpfs") && streq(is->root, "/") ? 0 : -EPERM;
        }

        if (is->major != source->major || is->minor != source->minor || !streq(is->root, root)) {
                *ret_fault = "something else is mounted there";
                return -EPERM;
        }

        return 0;
}

/* The runtime makes the mounts and then becomes the guest program, which waits for the go: then the table is final. Under krun it
 * becomes the virtual machine's monitor instead. */
static bool guest_program_runs(pid_t container) {
        _cleanup_free_ char *comm = NULL;
        char path[64];

        (void) snprintf(path, sizeof(path), "/proc/%d/comm", (int) container);
        return io_read_file_at(AT_FDCWD, path, 64, &comm, NULL) >= 0 && strncmp(comm, path_last(GUEST_PROGRAM), COMM_LENGTH) == 0;
}

int mounts_check(const Plan *p, pid_t container, char **ret_why) {
        _cleanup_mount_table_ MountTable own = { 0 }, guest = { 0 };
        const bool final = guest_program_runs(container); /* looked at before the table is */
        char path[64];
        int r;

        if (!final && p->request->settings->isolation != ISOLATION_KRUN)
                return -EAGAIN;

        (void) snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int) container);
        r = mount_table_read(path, &guest);
        if (r == -EINVAL)
                return -ENOENT; /* so the kernel says of a process that is about to end */
        if (r >= 0)
                r = mount_table_read("/proc/self/mountinfo", &own);
        if (r < 0)
                return r;

        for (size_t i = 0; i < p->n_mounts; i++) {
                _cleanup_free_ char *shown = NULL;
                const char *fault = "";

                r = check_one(&own, &guest, &p->mounts[i], &fault);
                if (r >= 0)
                        continue;
                if (r != -EPERM)
                        return r;

                shown = str_escape(p->mounts[i].target);
                (void) asprintf_to(ret_why, "The mount at %s (%s) is not as planned: %s.", shown ?: "?", p->mounts[i].why, fault);
                return final ? r : -EAGAIN;
        }

        return 0;
}
