/* SPDX-License-Identifier: MIT */

/* The launches that run, as a table for people, as lines for pipes, as JSON for scripts. */

#include <json-c/json.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/bus.h"

#define CELL_MAX 24

static const char *format_since(uint64_t usec, char buf[static CELL_MAX]) {
        time_t seconds = (time_t) (usec / USEC_PER_SEC), now = time(NULL);
        struct tm tm, today;

        if (usec == 0 || !localtime_r(&seconds, &tm) || !localtime_r(&now, &today))
                return "-";
        (void) strftime(buf, CELL_MAX, tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday ? "%H:%M:%S" : "%F %H:%M", &tm);
        return buf;
}

static const char *format_memory(uint64_t bytes, char buf[static CELL_MAX]) {
        if (bytes == UINT64_MAX)
                return "-";
        (void) snprintf(buf, CELL_MAX, "%.1fM", (double) bytes / MIB);
        return buf;
}

static const char *format_cpu(uint64_t nsec, char buf[static CELL_MAX]) {
        if (nsec == UINT64_MAX)
                return "-";
        (void) snprintf(buf, CELL_MAX, "%.1fs", (double) nsec / 1e9);
        return buf;
}

static void print_for_people(const LaunchList *list) {
        const bool colour = str_is_empty(getenv("NO_COLOR"));
        size_t width = STRLEN("PROFILE"), services = STRLEN("SERVICES");

        for (size_t i = 0; i < list->n; i++) {
                width = MAX(width, strlen(list->items[i].profile));
                services = MAX(services, strlen(list->items[i].services ?: ""));
        }

        (void) printf("%s%-8s  %-*s  %-8s  %8s  %7s  %-*s  %s%s\n", colour ? "\x1b[1m" : "", "LAUNCH", (int) width, "PROFILE", "SINCE",
                        "MEMORY", "CPU", (int) services, "SERVICES", "DIRECTORY", colour ? "\x1b[0m" : "");
        for (size_t i = 0; i < list->n; i++) {
                const RunningLaunch *l = &list->items[i];
                _cleanup_free_ char *directory = l->directory ? str_escape(l->directory) : NULL;
                char since[CELL_MAX], memory[CELL_MAX], cpu[CELL_MAX];

                (void) printf("%-8s  %-*s  %-8s  %8s  %7s  %-*s  %s\n", l->id, (int) width, l->profile, format_since(l->since_usec, since),
                                format_memory(l->memory, memory), format_cpu(l->cpu_nsec, cpu), (int) services, l->services ?: "-",
                                directory ?: "-");
                if (l->bridge) {
                        _cleanup_free_ char *bridge = str_escape(l->bridge);

                        (void) printf("          bridge: %s\n", bridge ?: "-");
                }
        }
}

/* Directories are escaped, so that a line is a launch and a tab ends a field. */
static void print_for_pipes(const LaunchList *list) {
        for (size_t i = 0; i < list->n; i++) {
                const RunningLaunch *l = &list->items[i];
                _cleanup_free_ char *directory = l->directory ? str_escape(l->directory) : NULL;

                (void) printf("%s\t%s\t%llu\t%s\t%s\n", l->id, l->profile, (unsigned long long) (l->since_usec / USEC_PER_SEC),
                                l->services ?: "-", directory ?: "-");
        }
}

static struct json_object *number_or_null(uint64_t n, uint64_t unknown) {
        return n == unknown ? NULL : json_object_new_int64((int64_t) n);
}

static struct json_object *string_or_null(const char *s) {
        return s ? json_object_new_string(s) : NULL;
}

static void print_json(const LaunchList *list) {
        struct json_object *array = json_object_new_array();

        for (size_t i = 0; i < list->n; i++) {
                const RunningLaunch *l = &list->items[i];
                struct json_object *o = json_object_new_object();

                (void) json_object_object_add(o, "launch", json_object_new_string(l->id));
                (void) json_object_object_add(o, "profile", json_object_new_string(l->profile));
                (void) json_object_object_add(o, "directory", string_or_null(l->directory));
                (void) json_object_object_add(o, "sinceUSec", number_or_null(l->since_usec, 0));
                (void) json_object_object_add(o, "memory", number_or_null(l->memory, UINT64_MAX));
                (void) json_object_object_add(o, "cpuNSec", number_or_null(l->cpu_nsec, UINT64_MAX));
                (void) json_object_object_add(o, "services", string_or_null(l->services));
                (void) json_object_object_add(o, "bridge", string_or_null(l->bridge));
                (void) json_object_object_add(o, "scope", json_object_new_string(l->units.scope));
                (void) json_object_array_add(array, o);
        }

        (void) puts(json_object_to_json_string_ext(array, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                        JSON_C_TO_STRING_NOSLASHESCAPE));
        (void) json_object_put(array);
}

static int run(const Command *c) {
        _cleanup_launch_list_ LaunchList list = { 0 };
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        r = command_launches(c, NULL, &list, &bus);
        if (r < 0)
                return r;

        if (command_has(c, "json"))
                print_json(&list);
        else if (list.n == 0)
                log_notice("No sandboxed launch runs.");
        else if (isatty(STDOUT_FILENO))
                print_for_people(&list);
        else
                print_for_pipes(&list);

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
        .details = "In a pipe: a line each; id, profile, seconds since the epoch, services and directory, "
                   "separated by tabs.",
        .run = run,
};
