/* SPDX-License-Identifier: MIT */

/* Opening one of claude's own pages in the host's browser, when a bridge asks: as a service of its own, so
 * that it lives as long as its user likes and not with the launch. The address is judged here again, since a
 * bridge may be in a guest's hands, and the browser is the one that the launcher wrote down. */

#include <stdio.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/log.h"
#include "basic/random.h"
#include "basic/strv.h"
#include "shared/bus.h"
#include "shared/chrome-url.h"
#include "supervisor/events.h"
#include "supervisor/supervisor.h"

/* A guest that opens pages in a loop does not take the desktop over. */
#define STARTS_MAX 5
#define STARTS_USEC (10 * USEC_PER_SEC)

typedef struct BrowserStart {
        const HostPrograms *programs;
        const char *url;
} BrowserStart;

/* The address as one word of the command line, as it is: without the flag the manager would put the values
 * of variables in place of "$NAME". */
static int append_exec_start(sd_bus_message *m, const char *path, const char *url) {
        return sd_bus_message_append(m, "(sv)", "ExecStartEx", "a(sasas)", 1, path, 2, path, url, 1, "no-env-expand");
}

static int append_environment(sd_bus_message *m, char **environment) {
        int r;

        r = sd_bus_message_open_container(m, 'r', "sv");
        if (r >= 0)
                r = sd_bus_message_append(m, "s", "Environment");
        if (r >= 0)
                r = sd_bus_message_open_container(m, 'v', "as");
        if (r >= 0)
                r = sd_bus_message_append_strv(m, environment);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        if (r >= 0)
                r = sd_bus_message_close_container(m);

        return r;
}

static int start_unit(sd_bus *bus, const BrowserStart *b, char **ret_why) {
        _cleanup_bus_message_ sd_bus_message *m = NULL;
        _cleanup_job_ Job job = {};
        uint32_t noise;
        char name[64];
        int r;

        r = random_bytes(&noise, sizeof(noise));
        if (r < 0)
                return r;
        (void) snprintf(name, sizeof(name), "claude-sandbox-browser-%08x.service", noise);

        r = transient_unit_begin(bus, name, &m);
        if (r >= 0)
                r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)(sv)",
                                "Description", "s", "Browser, opened from a Claude sandbox",
                                "Slice", "s", "app.slice",
                                /* Failing to execute it fails the start. */
                                "Type", "s", "exec",
                                /* What starts the browser may leave it running and end. */
                                "ExitType", "s", "cgroup",
                                "CollectMode", "s", "inactive-or-failed");
        if (r >= 0)
                r = append_environment(m, b->programs->environment);
        if (r >= 0)
                r = append_exec_start(m, b->programs->browser, b->url);
        if (r >= 0)
                r = transient_unit_end(m);
        if (r >= 0)
                r = job_send(&job, bus, m);
        if (r >= 0)
                r = job_wait(&job, ret_why);

        return r;
}

static int run_browser(const Supervisor *s, const void *argument) {
        _cleanup_bus_ sd_bus *bus = NULL;
        _cleanup_free_ char *why = NULL;
        int r;

        r = user_bus_open(s->dirs, &bus);
        if (r >= 0)
                r = start_unit(bus, argument, &why);

        return r < 0 ? log_error(r, "Cannot start the browser (%s)", why ?: "no answer"), EXIT_FAILURE : EXIT_SUCCESS;
}

static bool may_start(Supervisor *s) {
        uint64_t now = now_usec();

        if (s->browser_starts == 0 || now >= s->browser_since + STARTS_USEC) {
                s->browser_since = now;
                s->browser_starts = 0;
        }
        if (s->browser_starts > STARTS_MAX)
                return false;

        /* Said once for each time: the guest chooses how often it asks. */
        if (++s->browser_starts > STARTS_MAX)
                log_warning("More than %d pages in %d s; further ones are left out.", STARTS_MAX,
                                (int) (STARTS_USEC / USEC_PER_SEC));
        return s->browser_starts <= STARTS_MAX;
}

static int refuse(Supervisor *s, const char *id, int error, const char *why) {
        return refusal_may_be_told(s, id) ? log_error(error, "The bridge of launch %s asked for a page%s", id, why) : error;
}

int browser_start(Connection *c, const char *id, const char *url) {
        _cleanup_host_programs_ HostPrograms programs = {};
        Supervisor *s = c->supervisor;
        int r;

        if (!chrome_url_is_allowed(url, strlen(url)))
                return refuse(s, id, -EPERM, " that is none of claude's own; it is not opened");
        r = supervisor_read_programs(s, id, &programs);
        if (r >= 0 && !programs.browser)
                r = -EPERM;
        if (r < 0)
                return refuse(s, id, r, ", but the launch opens none");
        if (!may_start(s))
                return -EBUSY;

        r = worker_start(s, &(WorkerTask) {
                        .run = run_browser, .argument = &(BrowserStart) { .programs = &programs, .url = url },
                        .done = worker_answer, .output_fd = -EBADF }, &c->waits_for);
        if (r >= 0)
                event_page_opened(s, id, url);
        return r;
}
