/* SPDX-License-Identifier: MIT */

/* Theory of operation.
 *
 * A guard is a mount, and a mount sits on a directory entry. When somebody outside of the guest renames over that entry or removes it (git
 * config, an editor, rm -rf .git/hooks), the kernel drops the mount in every name space, and the guest has the bare entry. By the time
 * this runs, inotify has told the supervisor (watch.c), which has told the kernel to freeze the guest. Then, with the guest standing still:
 *
 *   watch      the directories in which something may happen, anew: first of all, so that nothing is missed after it was looked at
 *   look       which guards are in place (guard-mount.c)
 *   replace    each bare file or directory by a new inode with the same content (fresh-entry.c)
 *   bind       the guard over it, and look again, until all are in place
 *   tell       the file `lifted` and the journal
 *
 * Why a new inode, always: what the guest may have taken hold of while the guard was off cannot be found out. A descriptor that only
 * names the file (O_PATH) can be opened for writing later; one may be under way in a socket or registered with io_uring, where no
 * /proc shows it; it may be a hard link, a mapping, a mount in a name space of the guest's, or a virtual machine's cache. All of them
 * lead to the old inode, which has no name any more afterwards. So nothing is to be searched, and no launch has to end because
 * something was found, except when the replacing fails.
 *
 * An inode that is younger than the guest's standstill needs no replacing: the guest cannot know it. That also makes several launches with
 * the same guard agree: what one of them puts in place lifts the guards of the others, and those, frozen by the same event, only bind
 * theirs. So that they are, a guest stays frozen for a while after a replacement when there are other launches (watch.c).
 *
 * Directories that are only pinned (their guard keeps them from being renamed) stay as they are: the guest may write in them anyway.
 * It may also hold such a directory past its new pin, where the guards below it lie, too (guard-mount.c), but where one that is
 * lifted later would have to be put back a second time and cannot be reached. Then the launch ends.
 *
 * An entry that is gone has nothing to mount on. The two that a launch may create are created again; others are told of, and guarded again
 * as soon as they are back. Who brought them back, host or guest, is not known: that, too, is in `lifted`. */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "shared/cgroup.h"
#include "shared/host-trusted.h"
#include "shared/json-object.h"
#include "supervisor/events.h"
#include "supervisor/keep.h"

#define ROUNDS_MAX 32
#define PAUSE_MSEC 2
#define FREEZE_USEC (2 * USEC_PER_SEC)
#define LIFTED_MAX MIB
#define WATCH_MASK (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK)

typedef struct Keep {
        const Supervisor *supervisor;
        const KeepTask *task;
        const GuardList *guards;
        KeepRecord *records; /* those of the task, and what becomes of them */
        GuardState *states;
        uint64_t *lifted_usec; /* of each guard: CLOCK_REALTIME, when it fell off at the earliest; 0: it did not */
        bool *same;
        bool frozen;
        size_t fault;         /* the guard at which the last look failed, or SIZE_MAX */
        KeepResult *result;
} Keep;

static uint64_t realtime_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t) ts.tv_sec * USEC_PER_SEC + (uint64_t) ts.tv_nsec / 1000;
}

/* Why the launch has to end; the first reason counts. Returns a negative errno. */
static int give_up(Keep *k, int error, size_t i, const char *what) {
        _cleanup_free_ char *shown = NULL;

        if (k->result->why[0] != '\0')
                return error;
        if (i < k->guards->n)
                shown = str_escape_n(k->guards->guards[i].path, strlen(k->guards->guards[i].path), 256);
        (void) snprintf(k->result->why, sizeof(k->result->why), "%s%s%s (%s)", what, shown ? " " : "", shown ?: "", strerror(-error));
        return error;
}

static int open_parent(const char *path) {
        _cleanup_free_ char *parent = strndup(path, MAX((size_t) (path_last(path) - path), (size_t) 2) - 1);

        return parent ? io_open_no_links(parent) : -ENOMEM;
}

/* The directory that the entry is in or, when that is not there, the nearest one above it. */
static int watch_one(Keep *k, size_t i) {
        KeepRecord *record = &k->records[i];
        const char *path = k->guards->guards[i].path;
        _cleanup_free_ char *dir = strdup(path);
        size_t name_end = strlen(path);

        if (!dir)
                return -ENOMEM;

        for (;;) {
                _cleanup_close_ int fd = -EBADF;
                char *slash = strrchr(dir, '/'), proc[64];

                record->name = (size_t) (slash - dir) + 1;
                record->name_n = name_end - record->name;
                if (slash == dir)
                        slash++;
                *slash = '\0';

                fd = io_open_no_links(dir);
                if (fd < 0 && ((fd != -ENOENT && fd != -ENOTDIR) || streq(dir, "/")))
                        return fd;
                if (fd < 0) {
                        name_end = strlen(dir);
                        continue;
                }

                (void) snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
                record->wd = inotify_add_watch(KEEP_FD_INOTIFY, proc, WATCH_MASK);
                return record->wd < 0 ? -errno : 0;
        }
}

static int watch_all(Keep *k) {
        int r;

        for (size_t i = 0; i < k->guards->n; i++) {
                r = watch_one(k, i);
                if (r == -ENOSPC)
                        return give_up(k, r, i, "The limit fs.inotify.max_user_watches leaves no watch for");
                if (r < 0)
                        return give_up(k, r, i, "Cannot watch the directory of");
        }

        return 0;
}

/* What a launch puts there when it is missing, or NULL. */
static const char *created_text(const Guard *g) {
        const char *name = str_after_prefix(g->target, GUEST_CLAUDE_DIR "/");

        for (size_t i = 0; name && i < n_trusted_things; i++)
                if (trusted_things[i].place == TRUST_PROFILE && streq(trusted_things[i].name, name))
                        return trusted_things[i].created;

        return NULL;
}

static int create(const Guard *g, const char *text) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = open_parent(g->path);
        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        r = io_write_new_at(fd, path_last(g->path), 0600, text, strlen(text));
        return r == -EEXIST ? 0 : r;
}

/* The guard fell off no later than it was noticed; the entry's own time of change may say that it was earlier. What a guest does to that
 * only moves it forward. */
static void note_lifted(Keep *k, size_t i, int parent_fd) {
        uint64_t noticed = k->task->since_usec > 0 ? k->task->since_usec : realtime_usec();
        struct stat st;

        if (k->lifted_usec[i] > 0)
                return;

        k->lifted_usec[i] = noticed;
        if (parent_fd >= 0 && fstatat(parent_fd, path_last(k->guards->guards[i].path), &st, AT_SYMLINK_NOFOLLOW) >= 0)
                k->lifted_usec[i] = MIN(noticed, (uint64_t) st.st_ctim.tv_sec * USEC_PER_SEC + (uint64_t) st.st_ctim.tv_nsec / 1000);
}

/* A directory that was pinned anew may be held past its pin. */
static bool may_be_bypassed(const Keep *k, size_t i) {
        for (size_t j = 0; j < k->guards->n; j++)
                if (j != i && k->guards->guards[j].pin && k->records[j].anew && k->states[j] == GUARD_IN_PLACE &&
                                path_is_within(k->guards->guards[i].path, k->guards->guards[j].path))
                        return true;

        return false;
}

/* It did not exist while the guest ran, under whatever name. The kernel's time of birth is never later than the truth, and nobody sets it. */
static bool is_younger(const Keep *k, int parent_fd, const char *name) {
        struct statx sx;

        return statx(parent_fd, name, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &sx) >= 0 && (sx.stx_mask & STATX_BTIME) &&
                        (uint64_t) sx.stx_btime.tv_sec * USEC_PER_SEC + sx.stx_btime.tv_nsec / 1000 > k->result->frozen_usec;
}

static int replace_entry(Keep *k, size_t i) {
        const Guard *g = &k->guards->guards[i];
        _cleanup_close_ int fd = -EBADF;
        FreshContent content = { 0 };
        int r = 0;

        if (may_be_bypassed(k, i))
                return give_up(k, -EPERM, i, "The directory around it was replaced before, so there is no safe way to guard again");

        fd = open_parent(g->path);
        if (fd == -ENOENT)
                return 0; /* looked at again in the next round */
        if (fd < 0)
                return give_up(k, fd, i, "Cannot open the directory of");

        note_lifted(k, i, fd);
        if (!g->pin && is_younger(k, fd, path_last(g->path)))
                (void) fresh_content_at(fd, path_last(g->path), &content);
        else if (!g->pin) {
                r = fresh_entry_at(fd, path_last(g->path), &content);
                k->result->replaced |= r >= 0;
        }
        if (r < 0 && r != -ENOENT)
                return give_up(k, r, i, "Cannot replace what a sandbox may hold open:");

        k->same[i] = content.known && k->records[i].content.known &&
                        memcmp(content.sha256, k->records[i].content.sha256, SHA256_SIZE) == 0;
        if (r >= 0)
                k->records[i].content = content;
        return 0;
}

static int create_again(Keep *k, size_t i) {
        const char *text = created_text(&k->guards->guards[i]);
        int r;

        r = text ? create(&k->guards->guards[i], text) : 0;
        return r < 0 ? give_up(k, r, i, "Cannot create again") : 0;
}

/* Whether something is left to do: 1, 0 or negative errno. */
static int look(Keep *k, bool bind) {
        int r, left = 0;

        r = guards_settle(KEEP_FD_CONTAINER, k->guards, bind, k->states, &k->fault);
        /* ENOENT: what was to be mounted on was replaced between a look at it and the mount, by another launch's supervisor, say. */
        if (r == -ESTALE || r == -ENOENT)
                return -ESTALE;
        if (r == -ENOSYS)
                return give_up(k, r, SIZE_MAX, "Keeping guards in place needs Linux 5.12, and this is an older one");
        if (r == -ELOOP)
                return give_up(k, r, k->fault, "There is a link in the place of, or on the way to,");
        if (r < 0)
                return give_up(k, r, k->fault, "Cannot see to the guard over");

        for (size_t i = 0; i < k->guards->n; i++) {
                if (k->states[i] == GUARD_GONE && k->records[i].state != GUARD_GONE)
                        note_lifted(k, i, -EBADF);
                left |= k->states[i] == GUARD_MISSING || (k->states[i] == GUARD_GONE && created_text(&k->guards->guards[i]));
        }
        return left;
}

static int freeze(Keep *k) {
        int r = 0;

        if (!k->frozen && !k->task->frozen)
                r = cgroup_freeze(KEEP_FD_GUEST, true);
        if (r >= 0 && !k->frozen)
                r = cgroup_wait_frozen(KEEP_FD_GUEST, FREEZE_USEC);
        if (r < 0)
                return give_up(k, r, SIZE_MAX, "Cannot freeze the sandbox");

        k->frozen = true;
        k->result->frozen_usec = k->task->frozen_usec > 0 ? k->task->frozen_usec : realtime_usec();
        return 0;
}

static int put_back(Keep *k) {
        int r = 0;

        for (size_t i = 0; i < k->guards->n && r >= 0; i++)
                if (k->states[i] == GUARD_MISSING)
                        r = replace_entry(k, i);
                else if (k->states[i] == GUARD_GONE)
                        r = create_again(k, i);
        return r;
}

/* What host and guest have at one place may differ for a moment, while somebody replaces it. */
static int settle(Keep *k) {
        int r;

        r = look(k, false);
        for (unsigned i = 0; i < ROUNDS_MAX && (r > 0 || r == -ESTALE); i++) {
                int error = r;

                r = freeze(k);
                if (r < 0)
                        return r;
                if (error == -ESTALE) {
                        (void) poll(NULL, 0, PAUSE_MSEC);
                        r = look(k, false);
                        continue;
                }

                r = put_back(k);
                if (r >= 0)
                        r = look(k, true);
        }

        if (r > 0 || r == -ESTALE)
                return give_up(k, r > 0 ? -EBUSY : r, k->fault, "Host and sandbox do not have the same, or all the time another,");
        return r;
}

static int tell_of(Keep *k, size_t i) {
        const char *path = k->guards->guards[i].path;
        const bool gone = k->states[i] == GUARD_GONE;
        const uint64_t off = k->result->frozen_usec > k->lifted_usec[i] ? k->result->frozen_usec - k->lifted_usec[i] : 0;
        _cleanup_json_ Json *o = json_object_new_object();
        _cleanup_free_ char *line = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        int r;

        r = o ? json_add_string(o, "path", path) : -ENOMEM;
        if (r >= 0)
                r = json_add(o, "off_usec", json_object_new_int64((int64_t) off));
        if (r >= 0)
                r = json_add(o, "same_content", json_object_new_boolean(k->same[i]));
        if (r >= 0)
                r = json_add(o, "gone", json_object_new_boolean(gone));
        if (r >= 0)
                r = asprintf_to(&line, "%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
        if (r < 0)
                return r;

        fd = openat(KEEP_FD_LAUNCH, LAUNCH_FILE_LIFTED, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (st.st_size > (off_t) LIFTED_MAX)
                return -EFBIG;
        r = io_write_all(fd, line, strlen(line));
        if (r >= 0)
                event_guard_lifted(k->supervisor, k->task->launch, &(GuardLifted) {
                                .path = path, .off_usec = off, .same_content = k->same[i], .gone = gone });
        return r;
}

static int tell(Keep *k) {
        int r;

        for (size_t i = 0; i < k->guards->n; i++) {
                k->records[i].state = k->states[i];
                if (k->lifted_usec[i] == 0)
                        continue;
                k->records[i].anew |= k->states[i] == GUARD_IN_PLACE;
                r = tell_of(k, i);
                if (r < 0)
                        return give_up(k, r, i, "Cannot note down what became of the guard over");
        }

        return 0;
}

static void read_contents(Keep *k) {
        for (size_t i = 0; i < k->guards->n; i++) {
                _cleanup_close_ int fd = open_parent(k->guards->guards[i].path);

                if (fd >= 0)
                        (void) fresh_content_at(fd, path_last(k->guards->guards[i].path), &k->records[i].content);
        }
}

/* Before the guest has got its go, the launcher compares the mounts with its plan once more when the watch stands: what was lifted
 * until then it finds itself, for less than guards_settle() takes. */
static bool guest_has_begun(void) {
        return faccessat(KEEP_FD_LAUNCH, "guest/" LAUNCH_FILE_GO, F_OK, AT_SYMLINK_NOFOLLOW) >= 0;
}

static int keep(Keep *k) {
        int r;

        r = k->task->frozen ? freeze(k) : 0;
        if (r >= 0)
                r = watch_all(k);
        if (r >= 0 && k->task->first)
                read_contents(k);
        if (r >= 0 && (!k->task->first || guest_has_begun()))
                r = settle(k);

        /* Also when the launch has to end: something is there that was not. */
        if (r < 0 && k->fault < k->guards->n)
                note_lifted(k, k->fault, -EBADF);
        return tell(k) < 0 && r >= 0 ? -EIO : r;
}

/* The container's first process has ended, and with it all others. */
static bool is_over(void) {
        struct pollfd pfd = { .fd = KEEP_FD_CONTAINER, .events = POLLIN };

        return poll(&pfd, 1, 0) > 0;
}

int keep_run(const Supervisor *s, const void *argument) {
        const KeepTask *task = argument;
        const size_t n = task->guards->n;
        _cleanup_free_ KeepRecord *records = new0(KeepRecord, n + 1);
        _cleanup_free_ GuardState *states = new0(GuardState, n + 1);
        _cleanup_free_ uint64_t *lifted = new0(uint64_t, n + 1);
        _cleanup_free_ bool *same = new0(bool, n + 1);
        KeepResult result = { 0 };
        Keep k = { .supervisor = s, .task = task, .guards = task->guards, .records = records, .states = states,
                .lifted_usec = lifted, .same = same, .fault = SIZE_MAX, .result = &result };

        if (!records || !states || !lifted || !same)
                return EXIT_FAILURE;
        memcpy(records, task->records, n * sizeof(KeepRecord));

        result.done = keep(&k) >= 0 || is_over();
        if (io_write_all(STDOUT_FILENO, &result, sizeof(result)) < 0 ||
                        io_write_all(STDOUT_FILENO, records, n * sizeof(KeepRecord)) < 0)
                return EXIT_FAILURE;
        return result.done ? EXIT_SUCCESS : EXIT_FAILURE;
}
