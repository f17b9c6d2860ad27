/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/random.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/bus.h"
#include "shared/gpg-agent.h"
#include "shared/launch-dir.h"
#include "shared/podman.h"
#include "shared/profile.h"
#include "shared/rm-rf.h"
#include "shared/settings.h"
#include "shared/trust-session.h"
#include "shared/unit-name.h"
#include "supervisor/sweep.h"

#define CLAIM_TRIES 100
#define CLAIM_INTERVAL_MSEC 20
#define BRIDGE_STOP_USEC (2 * USEC_PER_SEC) /* its unit's TimeoutStopSec= is 1 s */

/* A dying process closes its descriptors one by one: the supervisor may see the connection end before the lock falls. */
static int claim(int base_fd, const char *name) {
        for (unsigned i = 0; i < CLAIM_TRIES; i++) {
                int fd;

                fd = launch_dir_claim(base_fd, name);
                if (fd != -EBUSY)
                        return fd;
                (void) poll(NULL, 0, CLAIM_INTERVAL_MSEC);
        }

        return -EBUSY;
}

static int stop_unit(sd_bus *bus, const char *unit, uint64_t kill_usec) {
        _cleanup_free_ char *why = NULL;
        int r;

        r = unit_stop(bus, unit, kill_usec, &why);
        return r < 0 ? log_error(r, "Cannot stop %s (%s)", unit, why ?: "no answer") : 0;
}

static int stop_units(const Dirs *dirs, const char *profile, const char *id) {
        _cleanup_launch_units_ LaunchUnits units = { 0 };
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        r = launch_units_make(profile, id, &units);
        if (r >= 0)
                r = user_bus_open(dirs, &bus);
        if (r < 0)
                return log_error(r, "Cannot stop launch %s", id);

        (void) stop_unit(bus, units.scope, SANDBOX_STOP_USEC);
        return stop_unit(bus, units.bridge, BRIDGE_STOP_USEC);
}

int sweep_bridge(const Dirs *dirs, const char *profile, const char *id) {
        _cleanup_launch_units_ LaunchUnits units = { 0 };
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        r = launch_units_make(profile, id, &units);
        if (r >= 0)
                r = user_bus_open(dirs, &bus);
        if (r < 0)
                return EXIT_FAILURE; /* without a manager there is no bridge */

        return stop_unit(bus, units.bridge, BRIDGE_STOP_USEC) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int default_access(const Dirs *dirs, const char *profile, PodmanAccess *ret) {
        _cleanup_settings_ Settings *settings = NULL;
        _cleanup_free_ char *why = NULL;
        int r;

        r = settings_load(dirs, profile, &settings, &why);
        if (r < 0)
                return log_error(r, "%s", why ?: "Cannot load settings");
        r = podman_environment(&ret->environment);
        if (r >= 0)
                r = strdup_to(&ret->program, settings->podman_bin);

        return r;
}

/* The guest has ended, and there is nobody else who could look at what it changed. */
static void report(const Dirs *dirs, const char *profile, const char *id, int fd) {
        int r;

        r = trust_session_leave(&(TrustSession) { .dirs = dirs, .profile = profile, .id = id, .dir_fd = fd });
        if (r < 0)
                (void) log_error(r, "Cannot report what launch %s changed of what the host trusts", id);
}

int sweep_launch(const Dirs *dirs, const char *name) {
        _cleanup_podman_access_ PodmanAccess podman = { 0 };
        _cleanup_close_ int base_fd = -EBADF, fd = -EBADF;
        _cleanup_free_ char *profile = NULL;
        const char *id;
        int r;

        base_fd = launch_base_open(dirs);
        if (base_fd < 0)
                return EXIT_FAILURE;
        fd = claim(base_fd, name);
        if (fd == -EBUSY || fd == -ENOENT)
                return EXIT_SUCCESS;
        if (fd < 0)
                return log_error(fd, "Cannot open the launch directory %s", name), EXIT_FAILURE;

        /* Not born yet: its launcher died before it had anything else. */
        if (launch_dir_parse_name(name, &profile, &id) >= 0) {
                (void) stop_units(dirs, profile, id);

                r = podman_access_read(fd, &podman);
                if (r == -ENOENT)
                        r = default_access(dirs, profile, &podman);
                if (r >= 0)
                        r = podman_remove_launch(&podman, profile, id);
                if (r < 0 && r != -ENOENT)
                        (void) log_error(r, "Cannot remove the container of launch %s", id);
                report(dirs, profile, id, fd);
        }

        r = rm_rf_at(base_fd, name);
        if (r < 0)
                return log_error(r, "Cannot remove the launch directory %s", name), EXIT_FAILURE;

        return EXIT_SUCCESS;
}

int sweep_containers(const Dirs *dirs, const char *profile) {
        _cleanup_podman_access_ PodmanAccess podman = { 0 };
        _cleanup_strv_ char **ids = NULL;
        _cleanup_close_ int base_fd = -EBADF;
        int r;

        base_fd = launch_base_open(dirs);
        if (base_fd < 0)
                return EXIT_FAILURE;
        r = default_access(dirs, profile, &podman);
        if (r >= 0)
                r = podman_list_launches(&podman, profile, &ids);
        if (r < 0)
                return EXIT_FAILURE;

        STRV_FOREACH(id, ids) {
                _cleanup_free_ char *name = NULL;

                if (asprintf_to(&name, "%s-%s", profile, *id) < 0)
                        return EXIT_FAILURE;
                /* A container's launch directory was there before it: none means that the launch is over. */
                if (faccessat(base_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) >= 0 || errno != ENOENT)
                        continue;

                log_notice("Removing the container that launch %s left behind.", *id);
                (void) podman_remove_launch(&podman, profile, *id);
        }

        return EXIT_SUCCESS;
}

/* `gpgconf --launch gpg-agent` as a service of its own: systems that ship no gpg-agent-extra.socket. */
static int launch_gpg_agent(sd_bus *bus, char **ret_why) {
        _cleanup_bus_message_ sd_bus_message *m = NULL;
        _cleanup_job_ Job job = { 0 };
        uint32_t noise;
        char name[64];
        int r;

        r = random_bytes(&noise, sizeof(noise));
        if (r < 0)
                return r;
        (void) snprintf(name, sizeof(name), "claude-sandbox-gpg-agent-%08x.service", noise);

        r = transient_unit_begin(bus, name, &m);
        if (r >= 0)
                r = sd_bus_message_append(m, "(sv)(sv)(sv)(sv)",
                                "Description", "s", "GnuPG agent, started for a sandbox",
                                "Type", "s", "forking",
                                "CollectMode", "s", "inactive-or-failed",
                                "ExecStart", "a(sasb)", 1, "gpgconf", 3, "gpgconf", "--launch", "gpg-agent", false);
        if (r >= 0)
                r = transient_unit_end(m);
        if (r >= 0)
                r = job_send(&job, bus, m);
        if (r >= 0)
                r = job_wait(&job, ret_why);

        return r;
}

int start_gpg_agent(const Dirs *dirs) {
        _cleanup_free_ char *path = NULL, *why = NULL;
        _cleanup_bus_ sd_bus *bus = NULL;
        int r;

        r = gpg_extra_socket(&path);
        if (r < 0)
                return log_error(r, "Cannot tell where the gpg-agent's restricted socket is"), EXIT_FAILURE;
        if (unix_socket_answers(path))
                return EXIT_SUCCESS;

        r = user_bus_open(dirs, &bus);
        if (r < 0)
                return log_error(r, "Cannot reach the user manager"), EXIT_FAILURE;

        r = unit_start(bus, "gpg-agent-extra.socket", NULL, &why);
        if (r >= 0 && unix_socket_answers(path))
                return EXIT_SUCCESS;

        r = launch_gpg_agent(bus, &why);
        if (r < 0)
                return log_error(r, "Cannot start the gpg-agent (%s)", why ?: "no answer"), EXIT_FAILURE;

        return unix_socket_answers(path) ? EXIT_SUCCESS : EXIT_FAILURE;
}
