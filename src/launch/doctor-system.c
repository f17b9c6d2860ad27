/* SPDX-License-Identifier: MIT */

/* What of systemd and the kernel a launch needs. */

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "config.h"
#include "launch/doctor.h"
#include "shared/bus.h"
#include "shared/cgroup.h"
#include "shared/unit-name.h"

#define MANAGER_SECONDS 5
#define VERSION_MIN 252
#define LOG_IN "Log in by ssh or on a console, not by su; or: loginctl enable-linger"
#define RELOAD "systemctl --user daemon-reload"
#define INSTALL "Install claude-profile anew, then: " RELOAD

static uint64_t manager_deadline; /* user_bus_wait()'s function has no argument */

static int is_late(void) {
        return now_usec() >= manager_deadline;
}

int check_manager(Doctor *d, CheckResult *ret) {
        _cleanup_free_ char *version = NULL;
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        r = user_bus_open(d->dirs, &bus);
        if (r == -ENOMEDIUM)
                return check_failed(ret, LOG_IN, "XDG_RUNTIME_DIR is not set to a directory of yours");

        manager_deadline = now_usec() + MANAGER_SECONDS * USEC_PER_SEC;
        if (r >= 0)
                r = user_bus_wait(bus, is_late);
        if (r >= 0)
                r = sd_bus_set_method_call_timeout(bus, MANAGER_SECONDS * USEC_PER_SEC);
        if (r >= 0)
                r = sd_bus_get_property_string(bus, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE, "Version", NULL, &version);
        if (r < 0)
                return check_failed(ret, LOG_IN, "none answers at %s/bus (%s)", d->dirs->runtime_root,
                                r == -EINTR || r == -ETIMEDOUT ? "it is silent" : strerror(-r));
        if (strtoul(version, NULL, 10) < VERSION_MIN)
                return check_failed(ret, "Upgrade the system: systemd 252 or newer is needed.", "it is systemd %s", version);

        d->bus = TAKE_PTR(bus);
        return check_ok(ret, "systemd %s", version);
}

/* Whether the file at `path` is the one in the directory that we are installed into, however that is spelled. */
static bool is_installed_unit(const char *path, const char *name) {
        _cleanup_free_ char *installed = path_join(USERUNITDIR, name);
        struct stat a, b;

        return installed && stat(installed, &a) >= 0 && stat(path, &b) >= 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* 1: all is well; 0: the result says what is not; -ENOMEM. `name` is the file, `unit` one that is made of it. */
static int check_unit(Doctor *d, const char *name, const char *unit, CheckResult *ret) {
        _cleanup_free_ char *path = NULL, *fragment = NULL;
        int r, stale = 0;

        r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &path);
        if (r < 0)
                return -ENOMEM;
        r = unit_get_string(d->bus, unit, "Unit", "FragmentPath", &fragment);
        if (r >= 0)
                r = sd_bus_get_property_trivial(d->bus, MANAGER_NAME, path, MANAGER_NAME ".Unit", "NeedDaemonReload", NULL, 'b', &stale);
        if (r < 0)
                return check_failed(ret, "systemctl --user status", "the manager says nothing of %s (%s)", name, strerror(-r));
        if (*fragment == '\0')
                return check_failed(ret, INSTALL, "the manager knows no %s", name);
        if (!is_installed_unit(fragment, name))
                return check_warning(ret, "Remove it if you do not need it.", "%s is not ours but %s", name, fragment);
        if (stale)
                return check_warning(ret, RELOAD, "%s has changed since the manager read it", name);

        return 1;
}

/* The unit files as the manager has read them, and the programs that they start. */
int check_units(Doctor *d, CheckResult *ret) {
        static const char *const programs[] = { "bridge", "supervisor", "guards", "guest" };
        static const struct {
                const char *name, *instance;
        } units[] = {
                { "claude-sandbox.slice", "claude-sandbox.slice" },
                { "claude-sandbox@.service", "claude-sandbox@doctor.service" },
                { "claude-bridge@.service", "claude-bridge@doctor-00000000.service" },
        };

        for (size_t i = 0; i < ELEMENTSOF(programs); i++) {
                _cleanup_free_ char *path = NULL;

                if (asprintf_to(&path, PKGLIBEXECDIR "/claude-sandbox-%s", programs[i]) < 0)
                        return -ENOMEM;
                if (access(path, X_OK) < 0)
                        return check_failed(ret, INSTALL, "%s cannot be used: %s", path, strerror(errno));
        }

        for (size_t i = 0; i < ELEMENTSOF(units); i++) {
                int r;

                r = check_unit(d, units[i].name, units[i].instance, ret);
                if (r <= 0)
                        return r;
        }

        return check_ok(ret, "as installed in %s, with their programs", USERUNITDIR);
}

/* A launch works without it; what it makes of the configuration are the limits of a profile's slice. */
int check_generator(Doctor *d, CheckResult *ret) {
        static const char path[] = USERGENERATORDIR "/claude-sandbox-generator";
        _cleanup_free_ char *slice = NULL, *fragment = NULL;
        int r;

        if (access(path, X_OK) < 0)
                return check_warning(ret, INSTALL, "%s cannot be used (%s), so limits of a profile's slice are not in force", path, strerror(errno));
        if (!d->profile)
                return check_ok(ret, "%s", path);

        slice = profile_slice_name(d->profile);
        if (!slice)
                return -ENOMEM;
        r = unit_get_string(d->bus, slice, "Unit", "FragmentPath", &fragment);
        if (r < 0 || !strstr(fragment, "/generator"))
                return check_warning(ret, RELOAD, "it has not made %s", slice);

        return check_ok(ret, "it has made %s", slice);
}

/* The controllers that the limits which are set want, and which are not in the list. */
static int missing_controllers(const Settings *s, const char *list, char **ret) {
        _cleanup_strv_ char **known = NULL;
        _cleanup_free_ char *missing = NULL;
        Limits limits;

        if (strv_split(list, ' ', &known) < 0)
                return -ENOMEM;

        settings_limits(s, &limits);
        for (LimitId id = 0; id < _LIMIT_MAX; id++) {
                const char *controller = limit_controller(id);
                _cleanup_free_ char *before = NULL;

                if (!limits.items[id].set || limits.items[id].value == LIMIT_INFINITY || strv_contains(known, controller))
                        continue;
                before = TAKE_PTR(missing);
                if (asprintf_to(&missing, "%s%s%s", before ?: "", before ? ", " : "", controller) < 0 || strv_add(&known, controller) < 0)
                        return -ENOMEM;
        }

        *ret = TAKE_PTR(missing);
        return 0;
}

int check_cgroups(Doctor *d, CheckResult *ret) {
        _cleanup_free_ char *group = NULL, *path = NULL, *file = NULL, *controllers = NULL, *missing = NULL;
        struct statfs fs;
        int r;

        if (statfs(CGROUP_ROOT, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
                return check_failed(ret, "Boot the kernel with systemd.unified_cgroup_hierarchy=1.",
                                "%s is no version 2 hierarchy", CGROUP_ROOT);

        r = sd_bus_get_property_string(d->bus, MANAGER_NAME, MANAGER_PATH, MANAGER_INTERFACE, "ControlGroup", NULL, &group);
        if (r < 0)
                return check_failed(ret, "systemctl --user status", "the manager does not say which is its own (%s)", strerror(-r));
        if (asprintf_to(&path, CGROUP_ROOT "%s", group) < 0 || asprintf_to(&file, "%s/cgroup.kill", path) < 0)
                return -ENOMEM;
        if (access(path, W_OK) < 0)
                return check_failed(ret, LOG_IN, "%s is not delegated to you (%s)", path, strerror(errno));
        if (access(file, F_OK) < 0)
                return check_failed(ret, "Upgrade the kernel: Linux 5.14 or newer is needed.", "there is no %s", file);

        free(TAKE_PTR(file));
        if (asprintf_to(&file, "%s/cgroup.controllers", path) < 0)
                return -ENOMEM;
        if (io_read_file_at(AT_FDCWD, file, 4 * KIB, &controllers, NULL) < 0)
                return check_failed(ret, LOG_IN, "%s cannot be read", file);
        controllers[strcspn(controllers, "\n")] = '\0';

        r = missing_controllers(d->settings, controllers, &missing);
        if (r < 0)
                return r;
        if (missing)
                return check_warning(ret, "sudo systemctl edit user@.service   # [Service] Delegate=yes",
                                "limits that are set have no effect: the manager is not delegated %s", missing);

        return check_ok(ret, "version 2; delegated: %s", *controllers ? controllers : "no controllers, so no limit would have an effect");
}

/* Where it is enforced, a sandbox can use only what carries a container's label. */
int check_selinux(Doctor *d, CheckResult *ret) {
        const char *base = d->settings->profiles_base;
        _cleanup_free_ char *enforce = NULL;
        char label[256];

        if (io_read_file_at(AT_FDCWD, "/sys/fs/selinux/enforce", 16, &enforce, NULL) < 0)
                return check_skipped(ret, "not in use here");
        if (enforce[0] != '1')
                return check_ok(ret, "permissive");
        if (d->podman_info && !json_object_get_boolean(doctor_info(d, "host.security.selinuxEnabled")))
                return check_warning(ret, "Install the package container-selinux.", "enforcing, but podman does not label containers");
        if (lgetxattr(base, "security.selinux", label, sizeof(label)) < 0 && errno == ENOTSUP)
                return check_warning(ret, "Set CLAUDE_PROFILE_PROFILES_BASE to a place on another file system.",
                                "enforcing, and the file system of %s has no labels, so sandboxes may be kept from it", base);

        return check_ok(ret, "enforcing; the work tree and the profile are labelled for sandboxes when one starts");
}
