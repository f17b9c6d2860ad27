/* SPDX-License-Identifier: MIT */

/* One inotify instance a launch, so that a guest that floods its own does not drown another's. It reports names in the directories of
 * guarded entries; the guest works in those directories, too (.git), and only the name of a guarded entry, or the loss of a directory or
 * of events, means anything. Then the kernel is told to freeze the guest, here and at once, and a child (keep.c) does the rest: one at a
 * time; what comes in meanwhile leads to one more, and until then the guest stands still. When the child has found all guards in place the
 * guest goes on. If it fails, dies or takes too long, the guest is killed, and never goes on.
 *
 * A supervisor that dies leaves the guest running or frozen. Its successor gets the same request from the launcher, which has frozen the guest
 * in the meantime (launch/supervisor-line.c); the first child looks after everything, and then the guest goes on. */

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "shared/cgroup.h"
#include "shared/unit-name.h"
#include "supervisor/events.h"
#include "supervisor/keep.h"
#include "supervisor/peer.h"
#include "supervisor/watch.h"

#define KEEP_USEC (10 * USEC_PER_SEC)
#define LINGER_USEC (200 * USEC_PER_MSEC)
#define EVENTS_SIZE (64 * KIB) /* of events that are read at once */

struct Watch {
        Connection *connection;
        GuardList guards;
        KeepRecord *records;
        int fds[KEEP_FDS];
        sd_event_source *events;
        sd_event_source *linger; /* stays frozen until then */
        Worker *worker;
        bool first;          /* the first child has not ended: the launcher waits for that */
        bool frozen;
        uint64_t frozen_usec; /* as a child found it */
        bool replaced;        /* since then */
        bool again;          /* something happened while a child was at work */
        bool failed;
        uint64_t since_usec; /* CLOCK_REALTIME of the first thing that no child has been started for */
};

static int *watch_fd(Watch *w, KeepFd fd) {
        return &w->fds[fd - KEEP_FD_INOTIFY];
}

static void fail(Watch *w, const char *why) {
        Connection *c = w->connection;

        if (w->failed)
                return;
        w->failed = true;
        w->events = sd_event_source_disable_unref(w->events);
        w->linger = sd_event_source_disable_unref(w->linger);

        log_full(LOG_LEVEL_ERROR, 0, "Launch %s is ended, because a guard cannot be kept in place: %s.", c->id, why);
        event_launch_cut(c->supervisor, c->id, why);
        connection_answer_reason(c, why); /* before its end is seen */
        if (cgroup_kill(*watch_fd(w, KEEP_FD_GUEST)) < 0)
                (void) kill(c->pid, SIGKILL); /* whose end brings that of the scope */
}

static void begin(Watch *w);

static void thaw(Watch *w) {
        /* Always: a supervisor before this one, or the launcher, may have frozen it. */
        if (cgroup_freeze(*watch_fd(w, KEEP_FD_GUEST), false) < 0) {
                fail(w, "the sandbox cannot be thawed");
                return;
        }
        w->frozen = false;
        w->replaced = false;
        w->frozen_usec = 0;
        if (w->first)
                connection_answer(w->connection, true);
        w->first = false;
}

static int on_linger(sd_event_source *source, uint64_t usec, void *userdata) {
        Watch *w = userdata;

        w->replaced = false;
        w->linger = sd_event_source_disable_unref(w->linger);
        if (!w->worker) /* else its end decides */
                thaw(w);
        return 0;
}

static int is_other(int base_fd, const char *name, void *userdata) {
        const Watch *w = userdata;
        const char *id = strrchr(name, '-');

        return id && streq(id + 1, w->connection->id) ? 0 : -EBUSY;
}

static void succeed(Watch *w, const KeepResult *result) {
        Supervisor *s = w->connection->supervisor;

        w->frozen_usec = result->frozen_usec;
        w->replaced |= result->replaced;
        if (w->again) {
                begin(w);
                return;
        }

        /* What was replaced here has lifted what other launches have there; what they replace now is then no news (keep.c). */
        if (w->replaced && !w->linger && launch_dir_foreach(s->base_fd, NULL, is_other, w) == -EBUSY)
                (void) sd_event_add_time_relative(s->event, &w->linger, CLOCK_MONOTONIC, LINGER_USEC, 0, on_linger, w);
        if (!w->linger)
                thaw(w);
}

static int read_result(Watch *w, int fd, KeepResult *ret) {
        const size_t n = w->guards.n * sizeof(KeepRecord);
        ssize_t k;

        k = pread(fd, ret, sizeof(*ret), 0);
        if (k != (ssize_t) sizeof(*ret))
                return -EIO;
        ret->why[sizeof(ret->why) - 1] = '\0';

        k = pread(fd, w->records, n, (off_t) sizeof(*ret));
        return k == (ssize_t) n ? 0 : -EIO;
}

static void on_kept(Worker *worker, const siginfo_t *si) {
        KeepResult result = { 0 };
        Watch *w = NULL;

        for (Connection *c = worker->supervisor->connections; c && !w; c = c->next)
                if (c->watch && c->watch->worker == worker)
                        w = c->watch;
        if (!w)
                return;

        w->worker = NULL;
        if (si->si_code == CLD_EXITED && read_result(w, worker->output_fd, &result) >= 0 && result.done)
                succeed(w, &result);
        else
                fail(w, result.why[0] != '\0' ? result.why : worker->timed_out ? "it took too long" : "the attempt broke off");
}

static void begin(Watch *w) {
        Connection *c = w->connection;
        int fd, r;

        fd = memfd_create("guards", MFD_CLOEXEC);
        if (fd < 0) {
                fail(w, "there is no memory for it");
                return;
        }

        r = worker_start(c->supervisor, &(WorkerTask) {
                        .run = keep_run,
                        .argument = &(KeepTask) { .launch = c->id, .guards = &w->guards, .records = w->records, .first = w->first,
                                .frozen = w->frozen, .frozen_usec = w->frozen_usec, .since_usec = w->since_usec },
                        .done = on_kept, .output_fd = fd, .fds = w->fds, .n_fds = KEEP_FDS, .timeout_usec = KEEP_USEC }, &w->worker);
        w->again = false;
        w->since_usec = 0;
        if (r < 0)
                fail(w, "no process can be started for it");
}

/* Something may have happened to a guard. */
static void alarm_raised(Watch *w) {
        struct timespec now;

        if (w->failed)
                return;
        if (!w->frozen && cgroup_freeze(*watch_fd(w, KEEP_FD_GUEST), true) < 0) {
                fail(w, "the sandbox cannot be frozen");
                return;
        }
        w->frozen = true;

        if (w->since_usec == 0) {
                (void) clock_gettime(CLOCK_REALTIME, &now);
                w->since_usec = (uint64_t) now.tv_sec * USEC_PER_SEC + (uint64_t) now.tv_nsec / 1000;
        }
        w->again = true;
        if (!w->worker)
                begin(w);
}

/* Whether it means anything. A new file whose name begins as that of a guarded one (config.lock, settings.json.tmp) is often how a program
 * begins to save: it will be renamed in a moment, and to be freezing the guest by then is better. */
static bool concerns_guard(const Watch *w, const struct inotify_event *e) {
        if (e->mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT))
                return true;
        if (e->len == 0)
                return false;

        for (size_t i = 0; i < w->guards.n; i++) {
                const KeepRecord *record = &w->records[i];

                if (record->wd == e->wd && strncmp(e->name, w->guards.guards[i].path + record->name, record->name_n) == 0 &&
                                (e->name[record->name_n] == '\0' || (e->mask & IN_CREATE)))
                        return true;
        }

        return false;
}

static int on_events(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        _Alignas(struct inotify_event) static char buf[EVENTS_SIZE];
        bool alarm = false;
        Watch *w = userdata;
        ssize_t n;

        n = read(fd, buf, sizeof(buf));
        for (char *p = buf; n > 0 && p < buf + n && !alarm;) {
                const struct inotify_event *e = (const struct inotify_event *) p;

                /* The first child is still finding out which watch is whose. */
                alarm = w->first || concerns_guard(w, e);
                p += sizeof(*e) + e->len;
        }

        if (alarm)
                alarm_raised(w);
        return 0;
}

static int open_container(Watch *w) {
        _cleanup_free_ char *scope = NULL, *path = NULL;
        _cleanup_launch_units_ LaunchUnits units = { 0 };
        Connection *c = w->connection;
        pid_t pid;
        int r;

        r = launch_units_make(c->supervisor->profile, c->id, &units);
        if (r >= 0)
                r = peer_scope(c->pid, units.scope, &scope);
        if (r >= 0)
                r = asprintf_to(&path, "/sys/fs/cgroup%s/guest", scope);
        if (r < 0)
                return r;
        *watch_fd(w, KEEP_FD_GUEST) = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (*watch_fd(w, KEEP_FD_GUEST) < 0)
                return -errno;

        r = launch_dir_read_pid(*watch_fd(w, KEEP_FD_LAUNCH), LAUNCH_FILE_PID, &pid);
        if (r < 0)
                return r;
        *watch_fd(w, KEEP_FD_CONTAINER) = (int) syscall(SYS_pidfd_open, pid, 0);
        if (*watch_fd(w, KEEP_FD_CONTAINER) < 0)
                return -errno;

        /* Not another process, to which that number has passed. */
        scope = (free(scope), NULL);
        return peer_scope(pid, units.scope, &scope);
}

static int set_up(Watch *w) {
        Connection *c = w->connection;
        Supervisor *s = c->supervisor;
        _cleanup_free_ char *name = NULL;
        int r;

        r = asprintf_to(&name, "%s-%s", s->profile, c->id);
        if (r < 0)
                return r;
        *watch_fd(w, KEEP_FD_LAUNCH) = openat(s->base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (*watch_fd(w, KEEP_FD_LAUNCH) < 0)
                return -errno;
        r = guard_list_read(*watch_fd(w, KEEP_FD_LAUNCH), &w->guards);
        if (r < 0)
                return r;

        w->records = new0(KeepRecord, w->guards.n + 1);
        if (!w->records)
                return -ENOMEM;
        r = open_container(w);
        if (r < 0)
                return r;

        *watch_fd(w, KEEP_FD_INOTIFY) = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (*watch_fd(w, KEEP_FD_INOTIFY) < 0)
                return log_error(-errno, "Cannot watch the guards of launch %s. Is the limit fs.inotify.max_user_instances too low?", c->id);
        r = sd_event_add_io(s->event, &w->events, *watch_fd(w, KEEP_FD_INOTIFY), EPOLLIN, on_events, w);
        if (r >= 0) /* before requests and the ends of children */
                r = sd_event_source_set_priority(w->events, SD_EVENT_PRIORITY_IMPORTANT);
        return r;
}

int watch_start(Connection *c) {
        Watch *w;
        int r;

        if (!c->holds || c->watch)
                return -EBADMSG;

        w = new0(Watch, 1);
        if (!w)
                return log_oom();
        w->connection = c;
        w->first = true;
        for (size_t i = 0; i < KEEP_FDS; i++)
                w->fds[i] = -EBADF;

        r = set_up(w);
        if (r < 0) {
                (void) watch_free(w);
                return log_error(r, "Cannot watch the guards of launch %s", c->id);
        }

        c->watch = w;
        begin(w);
        return 0;
}

Watch *watch_free(Watch *w) {
        if (!w)
                return NULL;

        if (w->worker) {
                w->worker->done = NULL;
                worker_kill(w->worker);
        }
        if (w->frozen && !w->failed)
                (void) cgroup_kill(*watch_fd(w, KEEP_FD_GUEST));

        (void) sd_event_source_disable_unref(w->events);
        (void) sd_event_source_disable_unref(w->linger);
        for (size_t i = 0; i < KEEP_FDS; i++)
                fd_close(w->fds[i]);
        guard_list_clear(&w->guards);
        free(w->records);
        free(w);
        return NULL;
}
