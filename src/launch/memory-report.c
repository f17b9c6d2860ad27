/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/memory-report.h"
#include "shared/limits.h"
#include "shared/unit-name.h"

static int read_attribute(const char *root, const char *cgroup, const char *name, char **ret) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = asprintf_to(&path, "%s%s/%s", root, cgroup, name);
        return r < 0 ? r : io_read_file_at(AT_FDCWD, path, 4 * KIB, ret, NULL);
}

/* The number behind `key` in a file of "key number" lines, 0 if there is none. */
static uint64_t read_count(const char *root, const char *cgroup, const char *name, const char *key) {
        _cleanup_free_ char *text = NULL;
        char *save = NULL;
        uint64_t n = 0;

        if (read_attribute(root, cgroup, name, &text) < 0)
                return 0;

        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *rest = str_after_prefix(line, key);

                if (rest && *rest == ' ' && parse_uint(rest + 1, 0, UINT64_MAX, &n) >= 0)
                        return n;
        }

        return 0;
}

/* Cuts the last component off. False at the root, which has no limit. */
static bool go_up(char *cgroup) {
        char *slash = strrchr(cgroup, '/');

        if (!slash || slash == cgroup)
                return false;
        *slash = '\0';
        return true;
}

int memory_watch_begin(MemoryWatch *w, const char *root, const char *cgroup) {
        _cleanup_free_ char *at = strdup(cgroup), *copy = strdup(cgroup);

        if (!at || !copy)
                return -ENOMEM;

        for (size_t i = 0; i < ELEMENTSOF(w->full); i++) {
                w->full[i] = read_count(root, at, "memory.events.local", "oom");
                if (!go_up(at))
                        break;
        }

        w->cgroup = TAKE_PTR(copy);
        return 0;
}

/* The nearest group, from the scope upwards, that was full. False: none was, so it was the machine. */
static bool find_full(const MemoryWatch *w, const char *root, char *at) {
        for (size_t i = 0; i < ELEMENTSOF(w->full); i++) {
                if (read_count(root, at, "memory.events.local", "oom") > w->full[i])
                        return true;
                if (!go_up(at))
                        break;
        }

        return false;
}

/* "MemoryMax=512M"; the value left out when the kernel does not tell it. */
static void format_limit(const char *root, const char *cgroup, char *buf, size_t n) {
        Limit limit = { .set = true };
        _cleanup_free_ char *text = NULL;
        char value[LIMIT_TEXT_MAX] = "";

        if (read_attribute(root, cgroup, "memory.max", &text) >= 0) {
                text[strcspn(text, "\n")] = '\0';
                if (parse_uint(text, 0, UINT64_MAX, &limit.value) >= 0)
                        (void) limit_format(LIMIT_MEMORY_MAX, &limit, value);
        }
        (void) snprintf(buf, n, "MemoryMax=%s", value);
}

static int describe_full(const MemoryWatch *w, const char *root, const char *cgroup, const char *profile, char **ret) {
        _cleanup_free_ char *slice = profile_slice_name(profile), *unit = NULL;
        char limit[64];

        unit = str_escape(path_last(cgroup));
        if (!slice || !unit)
                return -ENOMEM;

        format_limit(root, cgroup, limit, sizeof(limit));
        if (streq(cgroup, w->cgroup))
                return asprintf_to(ret, "this launch reached its %s (more: -p MemoryMax=)", limit);
        if (streq(unit, slice))
                return asprintf_to(ret, "all launches of profile %s together reached %s of %s", profile, limit, unit);
        if (streq(unit, SANDBOX_SLICE))
                return asprintf_to(ret, "all sandboxes together reached %s of %s", limit, unit);

        return asprintf_to(ret, "%s of %s, in which this launch runs, was reached", limit, unit);
}

int memory_watch_describe(const MemoryWatch *w, const char *root, const char *profile, char **ret) {
        _cleanup_free_ char *at = NULL, *why = NULL;
        unsigned long long killed;
        int r;

        *ret = NULL;
        killed = w->cgroup ? read_count(root, w->cgroup, "memory.events", "oom_kill") : 0;
        if (killed == 0)
                return 0;

        at = strdup(w->cgroup);
        if (!at)
                return -ENOMEM;
        r = find_full(w, root, at) ? describe_full(w, root, at, profile, &why) : strdup_to(&why, "this machine has no more");
        if (r < 0)
                return r;

        return asprintf_to(ret, "The sandbox ran out of memory and the kernel killed %llu of its processes: %s.", killed, why);
}

void memory_watch_clear(MemoryWatch *w) {
        free(w->cgroup);
        *w = (MemoryWatch) { 0 };
}
