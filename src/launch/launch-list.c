/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "launch/launch-list.h"
#include "shared/bus.h"
#include "shared/manifest.h"

#define PREFIX_MIN 4

static void launch_clear(RunningLaunch *l) {
        free(l->profile);
        free(l->directory);
        strv_free(l->services);
        free(l->bridge);
        launch_units_clear(&l->units);
}

void launch_list_clear(LaunchList *l) {
        for (size_t i = 0; i < l->n; i++)
                launch_clear(&l->items[i]);
        free(l->items);
        *l = (LaunchList) { 0 };
}

static int read_services(int dir_fd, char ***ret) {
        _cleanup_free_ char *text = NULL, *error = NULL;
        _cleanup_manifest_ Manifest *m = NULL;
        char name[WIRE_SERVICE_MAX];
        size_t n;
        int r;

        r = io_read_file_at(dir_fd, LAUNCH_FILE_MANIFEST, MANIFEST_SIZE_MAX, &text, &n);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = manifest_parse(text, n, &m, &error);
        explicit_bzero(text, n);
        if (r < 0)
                return r;

        for (size_t i = 0; i < m->n_services; i++) {
                r = strv_add(ret, service_format(m->services[i].id, name));
                if (r < 0)
                        return r;
        }

        return 0;
}

/* What cannot be read is left out: the launch may be just beginning, or ending. */
static void read_directory(int base_fd, const char *name, RunningLaunch *l) {
        _cleanup_close_ int fd = -EBADF;

        fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return;

        (void) io_read_file_at(fd, LAUNCH_FILE_DIRECTORY, 64 * KIB, &l->directory, NULL);
        (void) read_services(fd, &l->services);
}

static int get_number(sd_bus *bus, const char *unit, const char *interface, const char *property, uint64_t *ret) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path);
        if (r < 0)
                return r;

        return sd_bus_get_property_trivial(bus, MANAGER_NAME, path, interface, property, NULL, 't', ret);
}

static void ask_manager(sd_bus *bus, RunningLaunch *l) {
        (void) get_number(bus, l->units.scope, "org.freedesktop.systemd1.Unit", "ActiveEnterTimestamp", &l->since_usec);
        (void) get_number(bus, l->units.scope, "org.freedesktop.systemd1.Scope", "MemoryCurrent", &l->memory);
        (void) get_number(bus, l->units.scope, "org.freedesktop.systemd1.Scope", "CPUUsageNSec", &l->cpu_nsec);

        if (l->services && unit_is_active(bus, l->units.bridge) > 0)
                (void) unit_get_string(bus, l->units.bridge, "Service", "StatusText", &l->bridge);
}

typedef struct Loader {
        LaunchList *list;
        sd_bus *bus;
} Loader;

static int add_launch(int base_fd, const char *name, void *userdata) {
        RunningLaunch l = { .memory = UINT64_MAX, .cpu_nsec = UINT64_MAX };
        Loader *loader = userdata;
        const char *id;
        int r;

        if (launch_dir_parse_name(name, &l.profile, &id) < 0)
                return 0; /* not born yet */
        if (launch_dir_is_alive(base_fd, name) <= 0) {
                free(l.profile);
                return 0;
        }

        (void) stpcpy(l.id, id);
        r = launch_units_make(l.profile, l.id, &l.units);
        if (r >= 0)
                r = grow(&loader->list->items, &loader->list->allocated, loader->list->n + 1, sizeof(RunningLaunch));
        if (r < 0) {
                launch_clear(&l);
                return r;
        }

        read_directory(base_fd, name, &l);
        if (loader->bus)
                ask_manager(loader->bus, &l);
        loader->list->items[loader->list->n++] = l;
        return 0;
}

static int compare_age(const void *a, const void *b) {
        const RunningLaunch *x = a, *y = b;
        int r = (x->since_usec > y->since_usec) - (x->since_usec < y->since_usec);

        return r != 0 ? r : strcmp(x->id, y->id);
}

int launch_list_load(const Dirs *dirs, const char *profile, sd_bus *bus, LaunchList *ret) {
        _cleanup_launch_list_ LaunchList list = { 0 };
        _cleanup_close_ int base_fd = -EBADF;
        int r;

        if (!dirs->runtime)
                return -ENOMEDIUM;
        base_fd = open(dirs->runtime, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (base_fd < 0 && errno == ENOENT)
                return 0;
        if (base_fd < 0)
                return -errno;

        r = launch_dir_foreach(base_fd, profile, add_launch, &(Loader) { .list = &list, .bus = bus });
        if (r < 0)
                return r;
        if (list.n > 1)
                qsort(list.items, list.n, sizeof(RunningLaunch), compare_age);

        *ret = list;
        list = (LaunchList) { 0 };
        return 0;
}

static size_t keep_matching(LaunchList *l, const char *word, bool (*matches)(const RunningLaunch *l, const char *word)) {
        size_t found = 0, kept = 0;

        for (size_t i = 0; i < l->n; i++)
                found += matches(&l->items[i], word);
        if (found == 0)
                return 0;

        for (size_t i = 0; i < l->n; i++)
                if (matches(&l->items[i], word))
                        l->items[kept++] = l->items[i];
                else
                        launch_clear(&l->items[i]);
        l->n = kept;
        return found;
}

static bool is_of_profile(const RunningLaunch *l, const char *word) {
        return streq(l->profile, word);
}

bool launch_list_has_profile(const LaunchList *l, const char *profile) {
        for (size_t i = 0; i < l->n; i++)
                if (is_of_profile(&l->items[i], profile))
                        return true;

        return false;
}

static bool has_id(const RunningLaunch *l, const char *word) {
        return streq(l->id, word);
}

static bool id_begins(const RunningLaunch *l, const char *word) {
        return str_after_prefix(l->id, word) != NULL;
}

int launch_list_select(LaunchList *l, const char *word) {
        size_t n;

        if (keep_matching(l, word, is_of_profile) > 0 || keep_matching(l, word, has_id) > 0)
                return 0;
        if (strlen(word) < PREFIX_MIN)
                return -ENOENT;

        n = keep_matching(l, word, id_begins);
        return n == 0 ? -ENOENT : n > 1 ? -ENOTUNIQ : 0;
}
