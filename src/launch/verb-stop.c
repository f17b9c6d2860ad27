/* SPDX-License-Identifier: MIT */

/* Ends launches by way of the manager, which asks their launchers. */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/bus.h"

/* All are asked first and then waited for: a launch may take its ten seconds. */
static int stop_all(sd_bus *bus, const LaunchList *list) {
        Job *jobs;
        int ret = 0;

        jobs = new0(Job, list->n);
        if (!jobs)
                return log_oom();

        for (size_t i = 0; i < list->n; i++) {
                int r;

                r = unit_stop_send(bus, list->items[i].units.scope, &jobs[i]);
                if (r < 0)
                        ret = log_error(r, "Cannot ask for the end of %s", list->items[i].units.scope);
        }
        for (size_t i = 0; i < list->n; i++) {
                _cleanup_free_ char *why = NULL;
                int r;

                r = job_wait(&jobs[i], &why);
                job_clear(&jobs[i]);
                if (r < 0)
                        ret = log_error(r, "%s did not end (%s)", list->items[i].units.scope, why ?: strerror(-r));
                else
                        (void) printf("%s of profile %s has ended.\n", list->items[i].id, list->items[i].profile);
        }

        free(jobs);
        return ret;
}

static int run(const Command *c) {
        _cleanup_launch_list_ LaunchList list = { 0 };
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        r = command_launches(c, c->args[0], &list, &bus);
        return r < 0 ? r : stop_all(bus, &list);
}

const Verb verb_stop = {
        .name = "stop",
        .arguments = "LAUNCH|PROFILE",
        .min = 1,
        .max = 1,
        .help = "End a launch, or all of a profile",
        .details = "A launch is named by its id, or by the first four digits or more of it. It is asked to "
                   "end, and killed when it has not after nine seconds.",
        .run = run,
};
