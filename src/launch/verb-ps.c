/* SPDX-License-Identifier: MIT */

/* The launches that run, as a table for people, as lines for pipes, as JSON for scripts. */

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/output.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/bus.h"

#define CELL_MAX 24
#define UNKNOWN "-"

static char *format_since(uint64_t usec) {
        time_t seconds = (time_t) (usec / USEC_PER_SEC), now = time(NULL);
        char text[CELL_MAX] = UNKNOWN;
        struct tm tm, today;

        if (usec > 0 && localtime_r(&seconds, &tm) && localtime_r(&now, &today))
                (void) strftime(text, sizeof(text),
                                tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday ? "%H:%M:%S" : "%F %H:%M", &tm);
        return strdup(text);
}

static char *format_number(uint64_t n, double unit, const char *suffix) {
        char text[CELL_MAX] = UNKNOWN;

        if (n != UINT64_MAX)
                (void) snprintf(text, sizeof(text), "%.1f%s", (double) n / unit, suffix);
        return strdup(text);
}

/* "~" for the home directory; escaped, so that a line is a launch and a tab ends a field. */
static char *format_directory(const char *directory, const char *home) {
        _cleanup_free_ char *escaped = NULL, *escaped_home = NULL;
        char *s;

        escaped = str_escape(directory ?: UNKNOWN);
        escaped_home = str_escape(home);
        if (!escaped || !escaped_home)
                return NULL;
        if (streq(escaped_home, "/") || !path_is_within(escaped, escaped_home))
                return TAKE_PTR(escaped);

        return asprintf_to(&s, "~%s", escaped + strlen(escaped_home)) < 0 ? NULL : s;
}

static char *join_services(const RunningLaunch *l, const char *separator) {
        _cleanup_free_ char *joined = NULL;

        STRV_FOREACH(s, l->services) {
                _cleanup_free_ char *before = TAKE_PTR(joined);

                if (asprintf_to(&joined, "%s%s%s", before ?: "", before ? separator : "", *s) < 0)
                        return NULL;
        }

        return joined ? TAKE_PTR(joined) : strdup(UNKNOWN);
}

/* "ssh-0, gpg: 1 open, 12 served, 2 refused": of what the bridge says of itself, what is behind the launch's name. */
static char *describe_bridge(const RunningLaunch *l) {
        _cleanup_free_ char *services = join_services(l, ", "), *status = l->bridge ? str_escape(l->bridge) : NULL;
        const char *behind = status ? strstr(status, ": ") : NULL;
        char *s;

        if (!services || (l->bridge && !status))
                return NULL;

        return asprintf_to(&s, "%s: %s", services, behind ? behind + 2 : status ?: "not in use") < 0 ? NULL : s;
}

static int fill_row(TableRow *row, const RunningLaunch *l, const Dirs *dirs) {
        char *const cells[] = {
                strdup(l->id),
                strdup(l->profile),
                format_since(l->since_usec),
                format_number(l->memory, (double) MIB, "M"),
                format_number(l->cpu_nsec, 1e9, "s"),
                format_directory(l->directory, dirs->home),
        };
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(cells); i++) {
                row->cells[i] = cells[i];
                r = cells[i] ? r : -ENOMEM;
        }

        if (l->services) {
                row->note = describe_bridge(l);
                r = row->note ? r : -ENOMEM;
        }
        return r;
}

static int print_for_people(const LaunchList *list, const Dirs *dirs) {
        static const TableColumn columns[] = {
                { .title = "LAUNCH" },
                { .title = "PROFILE" },
                { .title = "SINCE" },
                { .title = "MEMORY", .right = true },
                { .title = "CPU", .right = true },
                { .title = "DIRECTORY", .cut = true },
                {},
        };
        _cleanup_table_ Table t = { .columns = columns };

        for (size_t i = 0; i < list->n; i++) {
                TableRow *row = table_add(&t);

                if (!row || fill_row(row, &list->items[i], dirs) < 0)
                        return log_oom();
        }

        table_print(&t);
        return 0;
}

static int print_for_pipes(const LaunchList *list) {
        for (size_t i = 0; i < list->n; i++) {
                const RunningLaunch *l = &list->items[i];
                _cleanup_free_ char *directory = str_escape(l->directory ?: UNKNOWN), *services = join_services(l, ",");

                if (!directory || !services)
                        return log_oom();
                (void) printf("%s\t%s\t%llu\t%s\t%s\n", l->id, l->profile, (unsigned long long) (l->since_usec / USEC_PER_SEC),
                                services, directory);
        }

        return 0;
}

static int add_number(Json *o, const char *key, uint64_t n, uint64_t unknown) {
        return n == unknown ? json_object_object_add(o, key, NULL) : json_add(o, key, json_object_new_int64((int64_t) n));
}

static int add_string(Json *o, const char *key, const char *s) {
        return s ? json_add_string(o, key, s) : json_object_object_add(o, key, NULL);
}

static int launch_to_json(const RunningLaunch *l, Json **ret) {
        _cleanup_json_ Json *o = json_object_new_object();
        int r;

        r = o ? json_add_string(o, "launch", l->id) : -ENOMEM;
        if (r >= 0)
                r = json_add_string(o, "profile", l->profile);
        if (r >= 0)
                r = add_string(o, "directory", l->directory);
        if (r >= 0)
                r = add_number(o, "sinceUSec", l->since_usec, 0);
        if (r >= 0)
                r = add_number(o, "memory", l->memory, UINT64_MAX);
        if (r >= 0)
                r = add_number(o, "cpuNSec", l->cpu_nsec, UINT64_MAX);
        if (r >= 0)
                r = json_add_strings(o, "services", l->services);
        if (r >= 0)
                r = add_string(o, "bridge", l->bridge);
        if (r >= 0)
                r = json_add_string(o, "scope", l->units.scope);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(o);
        return 0;
}

static int print_json(const LaunchList *list) {
        _cleanup_json_ Json *array = json_object_new_array();

        for (size_t i = 0; i < list->n; i++) {
                Json *o = NULL;

                if (!array || launch_to_json(&list->items[i], &o) < 0 || json_append(array, o) < 0)
                        return log_oom();
        }

        return output_json(TAKE_PTR(array));
}

static int run(const Command *c) {
        _cleanup_launch_list_ LaunchList list = { 0 };
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        r = command_launches(c, NULL, &list, &bus);
        if (r < 0)
                return r;

        if (command_has(c, "json"))
                return print_json(&list);
        if (list.n > 0)
                return isatty(STDOUT_FILENO) ? print_for_people(&list, c->dirs) : print_for_pipes(&list);

        log_notice("No sandboxed launch runs.");
        return 0;
}

static const Option options[] = {
        { 0, "json", NULL, "Print JSON" },
        { 0 },
};

const Verb verb_ps = {
        .name = "ps",
        .arguments = "",
        .min = 0,
        .max = 0,
        .options = options,
        .help = "Show the sandboxed launches that run",
        .details = "Below a launch: the services of its bridge, and how many connections to them are open, were served and refused. "
                   "In a pipe: a line each; id, profile, seconds since the epoch, services and directory, separated by tabs.",
        .run = run,
};
