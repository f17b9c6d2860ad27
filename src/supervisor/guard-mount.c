/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * A process that owns a user name space has every capability in it, also through another one in between (podman's). So an ordinary
 * user's process can enter the container of that user and mount there, without podman:
 *
 *   setns(user)         from here on the container's capabilities, with this user's own identity
 *   unshare(mount)      the host's file tree in a mount name space which that user name space owns: only in such a one trees may be
 *                       cloned. Sources in the launch directory, which no guest sees, are cloned here
 *   setns(mount)        the container's view; the clones stay attached to nothing
 *   openat2, move_mount by descriptor, without following a link, and only onto the very inode that the host has at that path: what a
 *                       guest put in the way is not followed
 *
 * A mount lies on a directory entry *of one mount*. Where the mount that pins a directory has fallen off, the guest may hold that
 * directory by a descriptor that bypasses a new pin, and with it all that is mounted below the new pin. So the inner guards are put on the
 * bare directory first, and the pin is then a recursive clone of that, as the container sees it: both ways lead to guards. Hence
 * the order, longest path first.
 *
 * What the guest kept of a bare entry itself is not this file's business (fresh-entry.h).
 *
 * Kernels: setns by pidfd and STATX_ATTR_MOUNT_ROOT 5.8, and what guard-bind.h needs. */

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "shared/guard-bind.h"
#include "supervisor/guard-mount.h"

/* An inode, as long as somebody holds it. */
typedef struct Identity {
        bool there;
        uint32_t major, minor;
        uint64_t inode;
} Identity;

/* What the child knows of a guard. */
typedef struct Place {
        Identity entry;  /* the guarded entry, on the host */
        Identity source; /* what has to lie over it */
        int tree_fd;     /* a clone of the latter, where it comes from the host's tree */
} Place;

/* What both processes see. */
typedef struct Shared {
        size_t fault;
        GuardState states[];
} Shared;

typedef struct Settle {
        int container_fd;
        const GuardList *guards;
        bool bind;
        Shared *shared;
        Place *places;
        size_t *order; /* longest target first: what lies below another comes before it */
        int root_fd;
} Settle;

static bool is_own_source(const Guard *g) {
        return streq(g->path, g->source);
}

static int stat_fd(int fd, struct statx *ret) {
        return statx(fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO, ret) < 0 ? -errno : 0;
}

static Identity identity_of(const struct statx *sx) {
        return (Identity) { .there = true, .major = sx->stx_dev_major, .minor = sx->stx_dev_minor, .inode = sx->stx_ino };
}

static bool is_same(const Identity *a, const Identity *b) {
        return a->there && b->there && a->major == b->major && a->minor == b->minor && a->inode == b->inode;
}

/* On the host. Returns a descriptor, -ENOENT, with `ret->there` false, or other negative errno. */
static int identify(const char *path, Identity *ret) {
        _cleanup_close_ int fd = -EBADF;
        struct statx sx;
        int r;

        *ret = (Identity) { .there = false };
        fd = guard_open_host(path);
        if (fd < 0)
                return fd == -ENOTDIR ? -ENOENT : fd;
        r = stat_fd(fd, &sx);
        if (r < 0)
                return r;

        *ret = identity_of(&sx);
        return TAKE_FD(fd);
}

/* Before the container's mounts are entered. */
static int look_at_host(Settle *s, size_t i) {
        const Guard *g = &s->guards->guards[i];
        Place *p = &s->places[i];
        _cleanup_close_ int fd = -EBADF, source_fd = -EBADF;

        p->tree_fd = -EBADF;
        fd = identify(g->path, &p->entry);
        if (fd < 0 && fd != -ENOENT)
                return fd;
        if (is_own_source(g)) {
                p->source = p->entry;
                return 0;
        }

        source_fd = identify(g->source, &p->source);
        if (source_fd < 0)
                return source_fd;
        if (!s->bind || s->shared->states[i] != GUARD_MISSING)
                return 0;

        p->tree_fd = guard_clone(source_fd);
        return MIN(p->tree_fd, 0);
}

static int look_at_guest(Settle *s, size_t i, GuardState *ret, int *ret_fd) {
        const Guard *g = &s->guards->guards[i];
        const Place *p = &s->places[i];
        _cleanup_close_ int fd = -EBADF;
        struct statvfs vfs;
        struct statx sx;
        Identity seen;
        int r;

        fd = guard_open_in(s->root_fd, g->target);
        if (fd == -ENOENT || fd == -ENOTDIR) {
                *ret = GUARD_GONE;
                return p->entry.there ? -ESTALE : 0;
        }
        if (fd < 0)
                return fd;

        r = stat_fd(fd, &sx);
        if (r < 0)
                return r;
        if (fstatvfs(fd, &vfs) < 0)
                return -errno;
        seen = identity_of(&sx);

        if (!(sx.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
                return -ENOSYS;
        if ((sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) && is_same(&seen, &p->source) &&
                        (!g->read_only || (vfs.f_flag & ST_RDONLY))) {
                *ret = GUARD_IN_PLACE;
                return 0;
        }

        *ret = GUARD_MISSING;
        *ret_fd = TAKE_FD(fd);
        return is_same(&seen, &p->entry) ? 0 : -ESTALE;
}

static int bind_one(Settle *s, size_t i) {
        const Guard *g = &s->guards->guards[i];
        _cleanup_close_ int target_fd = -EBADF, own_fd = -EBADF;
        GuardState state;
        int r;

        r = look_at_guest(s, i, &state, &target_fd);
        if (r < 0 || state != GUARD_MISSING)
                return r;
        if (!is_own_source(g)) /* without a clone it fell off only now */
                return s->places[i].tree_fd < 0 ? -ESTALE : guard_attach(g, s->places[i].tree_fd, target_fd);

        own_fd = guard_clone(target_fd);
        return own_fd < 0 ? own_fd : guard_attach(g, own_fd, target_fd);
}

static int settle_all(Settle *s) {
        int r;

        for (size_t k = 0; s->bind && k < s->guards->n; k++) {
                const size_t i = s->order[k];

                if (s->shared->states[i] != GUARD_MISSING)
                        continue;
                s->shared->fault = i;
                r = bind_one(s, i);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < s->guards->n; i++) {
                _cleanup_close_ int fd = -EBADF;

                s->shared->fault = i;
                r = look_at_guest(s, i, &s->shared->states[i], &fd);
                if (r < 0)
                        return r;
        }

        s->shared->fault = SIZE_MAX;
        return 0;
}

static int run_inside(Settle *s) {
        int r;

        if (setns(s->container_fd, CLONE_NEWUSER) < 0 || unshare(CLONE_NEWNS) < 0)
                return -errno;

        for (size_t i = 0; i < s->guards->n; i++) {
                s->shared->fault = i;
                r = look_at_host(s, i);
                if (r < 0)
                        return r;
        }
        s->shared->fault = SIZE_MAX;

        if (setns(s->container_fd, CLONE_NEWNS) < 0)
                return -errno;
        s->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (s->root_fd < 0)
                return -errno;

        return settle_all(s);
}

static int compare_length(const void *a, const void *b, void *userdata) {
        const GuardList *l = userdata;
        const size_t x = strlen(l->guards[*(const size_t *) a].target), y = strlen(l->guards[*(const size_t *) b].target);

        return (x < y) - (x > y);
}

/* The child ends with the errno as its status; its descriptors and memory end with it. */
static int run_child(Settle *s) {
        siginfo_t si;
        pid_t pid;

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                _exit(-run_inside(s));

        while (waitid(P_PID, (id_t) pid, &si, WEXITED) < 0)
                if (errno != EINTR)
                        return -errno;
        return si.si_code == CLD_EXITED ? -si.si_status : -EIO;
}

int guards_settle(int container_fd, const GuardList *l, bool bind, GuardState *states, size_t *ret_fault) {
        const size_t size = sizeof(Shared) + l->n * sizeof(GuardState);
        _cleanup_free_ Place *places = new0(Place, l->n + 1);
        _cleanup_free_ size_t *order = new(size_t, l->n + 1);
        Settle s = { .container_fd = container_fd, .guards = l, .bind = bind, .places = places, .order = order, .root_fd = -EBADF };
        int r;

        *ret_fault = SIZE_MAX;
        if (!places || !order)
                return -ENOMEM;
        s.shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (s.shared == MAP_FAILED)
                return -errno;

        for (size_t i = 0; i < l->n; i++) {
                s.shared->states[i] = bind ? states[i] : GUARD_IN_PLACE;
                order[i] = i;
        }
        qsort_r(order, l->n, sizeof(size_t), compare_length, (void *) l);
        s.shared->fault = SIZE_MAX;

        r = run_child(&s);
        if (r >= 0)
                memcpy(states, s.shared->states, l->n * sizeof(GuardState));
        *ret_fault = s.shared->fault;
        (void) munmap(s.shared, size);
        return r;
}
