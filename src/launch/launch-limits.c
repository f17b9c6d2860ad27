/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/launch-limits.h"
#include "shared/cgroup.h"

#define USEC_PER_PERMYRIAD (USEC_PER_SEC / 10000)

/* As bus_append_unit_property() of systemd has it: a part of what the machine has is a property of its own, in parts of 2³² - 1. */
static int limit_append(sd_bus_message *m, LimitId id, const Limit *limit) {
        char name[64];

        if (id == LIMIT_CPU_QUOTA)
                return sd_bus_message_append(m, "(sv)", "CPUQuotaPerSecUSec", "t",
                                limit->relative ? limit->value * USEC_PER_PERMYRIAD : limit->value);
        if (!limit->relative)
                return sd_bus_message_append(m, "(sv)", limit_name(id), "t", limit->value);

        (void) snprintf(name, sizeof(name), "%sScale", limit_name(id));
        return sd_bus_message_append(m, "(sv)", name, "u", (uint32_t) ((limit->value * UINT32_MAX + 5000) / 10000));
}

int limits_append(sd_bus_message *m, const Limits *limits) {
        for (LimitId id = 0; id < _LIMIT_MAX; id++) {
                int r;

                r = limits->items[id].set ? limit_append(m, id, &limits->items[id]) : 0;
                if (r < 0)
                        return r;
        }

        return 0;
}

static void check_controllers(const Limits *limits, const char *cgroup) {
        _cleanup_free_ char *path = NULL, *text = NULL;
        _cleanup_strv_ char **controllers = NULL;
        char idle[256] = "";

        if (asprintf_to(&path, CGROUP_ROOT "%s/cgroup.controllers", cgroup) < 0 ||
                        io_read_file_at(AT_FDCWD, path, 4 * KIB, &text, NULL) < 0)
                return;
        text[strcspn(text, "\n")] = '\0';
        if (strv_split(text, ' ', &controllers) < 0)
                return;

        for (LimitId id = 0; id < _LIMIT_MAX; id++) {
                const Limit *limit = &limits->items[id];
                const size_t n = strlen(idle);

                if (limit->set && limit->value != LIMIT_INFINITY && !strv_contains(controllers, limit_controller(id)))
                        (void) snprintf(idle + n, sizeof(idle) - n, "%s%s=", n > 0 ? ", " : "", limit_name(id));
        }
        if (*idle)
                log_warning("Without effect here: %s. The controllers of your user manager are: %s. An administrator delegates more with "
                                "Delegate=yes of user@.service.", idle, *text ? text : "none");
}

/* A microVM takes what it was told that it has, sooner or later. */
static void check_ram(const Limits *limits, const Settings *settings) {
        const Limit *max = &limits->items[LIMIT_MEMORY_MAX];
        char buf[LIMIT_TEXT_MAX];

        if (settings->isolation == ISOLATION_KRUN && max->set && !max->relative && max->value / MIB < settings->ram_mib)
                log_warning("MemoryMax=%s is less than the microVM's memory of %llu MiB: the kernel kills it when it uses more. "
                                "Make that smaller, too: RAM=, CLAUDE_PROFILE_SANDBOX_RAM_MIB.",
                                limit_format(LIMIT_MEMORY_MAX, max, buf), (unsigned long long) settings->ram_mib);
}

void limits_check(const Plan *p, const char *cgroup) {
        check_controllers(&p->limits, cgroup);
        check_ram(&p->limits, p->request->settings);
}

char *limit_describe_origin(const LaunchRequest *request, LimitId id) {
        const char *variable = settings_limit_variable(id);

        if (request->limits.items[id].set || !variable)
                return strdup("-p");

        return settings_describe_origin(request->settings, variable);
}
