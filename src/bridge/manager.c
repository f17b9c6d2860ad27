/* SPDX-License-Identifier: MIT */

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "bridge/accept.h"
#include "bridge/client.h"
#include "shared/notify.h"

#define DEADLINE_ACCURACY_USEC (1 * USEC_PER_MSEC)

/* Lists */

static void list_insert(Client **list, Client *before, Client *after, Client *c) {
        c->list = list;
        c->previous = before;
        c->next = after;
        if (before)
                before->next = c;
        else
                *list = c;
        if (after)
                after->previous = c;
}

static void arm_deadline(Manager *m) {
        int enabled;

        /* Armed for one that has gone since, it comes too early, and is armed anew then. */
        if (!m->waiting || sd_event_source_get_enabled(m->deadline_timer, &enabled) < 0 ||
                        enabled != SD_EVENT_OFF)
                return;

        (void) sd_event_source_set_time(m->deadline_timer, m->waiting->since + WIRE_HANDSHAKE_USEC);
        (void) sd_event_source_set_enabled(m->deadline_timer, SD_EVENT_ONESHOT);
}

void manager_add_waiting(Manager *m, Client *c) {
        Client *before = NULL;

        /* Nearly always the youngest; the list is short. */
        for (Client *i = m->waiting; i && i->since <= c->since; i = i->next)
                before = i;
        list_insert(&m->waiting, before, before ? before->next : m->waiting, c);
        m->n_waiting++;

        if (!before)
                (void) sd_event_source_set_enabled(m->deadline_timer, SD_EVENT_OFF);
        if (m->n_waiting > WAITING_MAX)
                client_end(m->waiting, OUTCOME_CROWDED_OUT);
        arm_deadline(m);
}

void manager_add_open(Manager *m, Client *c) {
        list_insert(&m->open, NULL, m->open, c);
        report_open(m->report, ++m->n_open);
}

void manager_remove(Manager *m, Client *c) {
        if (!c->list)
                return;

        if (c->previous)
                c->previous->next = c->next;
        else
                *c->list = c->next;
        if (c->next)
                c->next->previous = c->previous;

        (void) manager_note_stalled(m, c, false);
        if (c->list == &m->waiting)
                m->n_waiting--;
        else
                report_open(m->report, --m->n_open);
        c->list = NULL;

        accept_resume(m);
}

bool manager_note_stalled(Manager *m, Client *c, bool stalled) {
        Client *longest = c;

        if (stalled == (c->stalled_since > 0))
                return false;

        c->stalled_since = stalled ? now_usec() : 0;
        if (!stalled) {
                m->n_stalled--;
                return false;
        }
        if (++m->n_stalled <= STALLED_MAX)
                return false;

        for (Client *i = m->open; i; i = i->next)
                if (i->stalled_since > 0 && i->stalled_since < longest->stalled_since)
                        longest = i;
        client_end(longest, OUTCOME_STALLED);
        return true;
}

static int on_deadline(sd_event_source *s, uint64_t usec, void *userdata) {
        Manager *m = userdata;
        uint64_t now = now_usec();

        while (m->waiting && m->waiting->since + WIRE_HANDSHAKE_USEC <= now)
                client_end(m->waiting, OUTCOME_LINE_TIMEOUT);

        arm_deadline(m);
        return 0;
}

static void on_supervisor_answer(void *userdata, bool ok) {
        Manager *m = userdata;

        /* Each may end itself and others: begin anew until none waits any more. */
        for (Client *c = m->open; c;)
                if (c->asks_supervisor) {
                        client_supervisor_answered(c, ok);
                        c = m->open;
                } else
                        c = c->next;
}

/* Making and running */

static void raise_limit(void) {
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS_MAX)
                return;

        limit.rlim_cur = MIN(limit.rlim_max, (rlim_t) DESCRIPTORS_MAX);
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < DESCRIPTORS_MAX)
                log_notice("Only %llu descriptors are allowed, %d connections need %d.",
                                (unsigned long long) limit.rlim_cur, RELAYS_MAX, DESCRIPTORS_MAX);
}

static int manager_make_starter(Manager *m) {
        const char *runtime = getenv("XDG_RUNTIME_DIR");
        int r;

        /* Without a runtime directory there is no supervisor, and nobody at this path. */
        r = asprintf_to(&m->supervisor_path, "%s/claude-profile/%s.sock", runtime ?: "", m->manifest->profile);
        if (r < 0)
                return r;

        return starter_new(m->event, m->supervisor_path, on_supervisor_answer, m, &m->starter);
}

/* Blocked, so that it comes by way of the loop: it ends us with every connection accounted for, and at once,
 * however many of them have something to say. */
static int manager_heed_stop(Manager *m) {
        sd_event_source *source;
        sigset_t stop;
        int r;

        (void) sigemptyset(&stop);
        (void) sigaddset(&stop, SIGTERM);
        if (sigprocmask(SIG_BLOCK, &stop, NULL) < 0)
                return -errno;

        r = sd_event_add_signal(m->event, &source, SIGTERM, NULL, NULL);
        if (r < 0)
                return r;

        r = sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0)
                r = sd_event_source_set_floating(source, true);
        sd_event_source_unref(source);
        return r;
}

static int manager_make_event(Manager *m) {
        int r;

        r = sd_event_new(&m->event);
        if (r >= 0)
                r = manager_heed_stop(m);
        if (r >= 0)
                r = poll_set_new(m->event, &m->ready);
        if (r >= 0)
                r = sd_event_add_time(m->event, &m->deadline_timer, CLOCK_MONOTONIC, UINT64_MAX,
                                DEADLINE_ACCURACY_USEC, on_deadline, m);
        if (r >= 0)
                r = sd_event_source_set_enabled(m->deadline_timer, SD_EVENT_OFF);

        return r;
}

int manager_new(const Manifest *manifest, ManagerFds fds, Manager **ret) {
        _cleanup_close_ int diag = fds.diag;
        _cleanup_manager_ Manager *m = NULL;
        struct sockaddr_in ours;
        int r;

        m = new0(Manager, 1);
        if (!m) {
                fd_close(fds.listen);
                return log_oom();
        }

        m->listen_fd = fds.listen;
        m->manifest = manifest;
        for (size_t i = 0; i < manifest->n_services; i++)
                m->enabled[i] = manifest->services[i].id;

        r = accept_prepare(m->listen_fd, &ours);
        if (r < 0)
                return log_error(r, "Cannot use the listening socket");
        r = peer_check_new(TAKE_FD(diag), ours, manifest->cgroup, &m->peers);
        if (r < 0)
                return log_error(r, "Cannot check peers");

        raise_limit();
        m->relays = relay_shared_new();
        if (!m->relays)
                return log_oom();

        r = manager_make_event(m);
        if (r >= 0)
                r = report_new(m->event, manifest, m->peers, &m->report);
        if (r >= 0)
                r = leave_new(m->event, report_budget(m->report), &m->leave);
        if (r >= 0)
                r = linger_new(m->event, m->ready, &m->linger);
        if (r >= 0)
                r = manager_make_starter(m);
        if (r >= 0)
                r = accept_start(m);
        if (r < 0)
                return log_error(r, "Cannot set up the event loop");

        *ret = TAKE_PTR(m);
        return 0;
}

/* What there is to say comes first: with thousands of connections that keep us busy, and the others on this
 * processor too, there may be no time for more. */
static void manager_end_clients(Manager *m) {
        for (Client *c = m->waiting; c; c = c->next)
                client_account(c, OUTCOME_LAUNCH_ENDED);
        for (Client *c = m->open; c; c = c->next)
                client_account(c, OUTCOME_LAUNCH_ENDED);
        report_flush(m->report);

        while (m->waiting)
                client_free(m->waiting);
        while (m->open)
                client_free(m->open);
}

Manager *manager_free(Manager *m) {
        if (!m)
                return NULL;

        manager_end_clients(m);
        starter_free(m->starter);
        free(m->supervisor_path);
        leave_free(m->leave);
        linger_free(m->linger);
        report_free(m->report);
        peer_check_free(m->peers);
        relay_shared_free(m->relays);
        poll_set_free(m->ready);
        sd_event_source_disable_unref(m->accept_source);
        sd_event_source_disable_unref(m->resume_timer);
        sd_event_source_disable_unref(m->deadline_timer);
        fd_close(m->listen_fd);
        sd_event_unref(m->event);
        free(m);
        return NULL;
}

int manager_run(Manager *m) {
        int r;

        report_ready(m->report);
        r = poll_set_run(m->ready);
        (void) notify_send("STOPPING=1");
        return r < 0 ? log_error(r, "The event loop failed") : 0;
}
