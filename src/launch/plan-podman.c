/* SPDX-License-Identifier: MIT */

/* podman's command line: a pure function of the plan. No secret may stand in it: every user of the machine can read argv, and
 * podman keeps it in its database. */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/plan.h"
#include "shared/podman.h"

/* Appends `key=value` as one CSV field: podman reads --mount with encoding/csv, so a quoted field may hold commas, quotes
 * (doubled) and line breaks. */
static char *append_field(char *q, const char *key, const char *value) {
        q = stpcpy(q, ",\"");
        q = stpcpy(q, key);
        for (; *value; value++) {
                if (*value == '"')
                        *q++ = '"';
                *q++ = *value;
        }
        return stpcpy(q, "\"");
}

bool mount_path_is_expressible(const char *path) {
        return !strstr(path, "\r\n");
}

int mount_to_argument(const Mount *m, char **ret) {
        size_t size = 128 + 2 * (strlen(m->target) + (m->source ? strlen(m->source) : 0));
        char *s, *q;

        if (!mount_path_is_expressible(m->target) || (m->source && !mount_path_is_expressible(m->source)))
                return -EINVAL;

        s = q = malloc(size);
        if (!s)
                return -ENOMEM;

        q = stpcpy(q, m->kind == MOUNT_TMPFS ? "type=tmpfs" : "type=bind");
        if (m->source)
                q = append_field(q, "src=", m->source);
        q = append_field(q, "dst=", m->target);
        if (m->kind == MOUNT_TMPFS)
                q = stpcpy(q, ",notmpcopyup,tmpfs-mode=0755");
        if (m->flags & MOUNT_READ_ONLY)
                q = stpcpy(q, ",ro");
        if (m->flags & MOUNT_RELABEL)
                q = stpcpy(q, ",relabel=shared");
        assert((size_t) (q - s) < size);

        *ret = s;
        return 0;
}

static int add_ports(const Plan *p, uint16_t port, char ***argv) {
        char network[sizeof("--network=pasta:") + (HOOK_PORTS_MAX + 1) * sizeof("-T,65535,")] = "--network=pasta", *q;
        const char *separator = ":";

        q = network + strlen(network);
        if (port > 0) {
                q += sprintf(q, "%s-T,%u", separator, (unsigned) port);
                separator = ",";
        }
        for (size_t i = 0; i < p->n_hook_ports; i++) {
                q += sprintf(q, "%s-T,%u", separator, (unsigned) p->hook_ports[i]);
                separator = ",";
        }

        return strv_add(argv, network);
}

static int add_isolation(const Plan *p, uint16_t port, char ***argv) {
        const Settings *s = p->request->settings;
        int r;

        if (s->isolation == ISOLATION_KRUN) {
                r = strv_add_many(argv, "--annotation=run.oci.handler=krun", "--annotation=krun.use_passt=1",
                                "--device=/dev/kvm", NULL);
                if (r >= 0)
                        r = strv_addf(argv, "--annotation=krun.ram_mib=%llu", (unsigned long long) s->ram_mib);
                if (r >= 0)
                        r = strv_addf(argv, "--annotation=krun.cpus=%llu", (unsigned long long) s->cpus);
                if (r >= 0)
                        r = strv_addf(argv, "--env=" GUEST_ENV_RAM "=%llu", (unsigned long long) s->ram_mib);
                if (r < 0)
                        return r;
                return strv_add(argv, port > 0 || p->n_hook_ports > 0 ? "--network=pasta:--map-host-loopback,169.254.1.2" :
                                "--network=pasta");
        }

        /* The guest shares the container's network namespace: exactly these ports of the host's loopback. */
        return add_ports(p, port, argv);
}

static int add_identity(const Plan *p, char ***argv) {
        int r;

        r = strv_addf(argv, "--name=%s", p->container);
        if (r >= 0)
                r = strv_addf(argv, "--label=" LABEL_PROFILE "=%s", p->request->profile->name);
        if (r >= 0)
                r = strv_addf(argv, "--label=" LABEL_LAUNCH "=%s", p->id);
        if (r >= 0)
                r = strv_addf(argv, "--pidfile=%s/pid", p->launch_path);
        if (r >= 0)
                r = strv_addf(argv, "--conmon-pidfile=%s/conmon.pid", p->launch_path);
        if (r >= 0)
                r = strv_addf(argv, "--hooks-dir=%s/" LAUNCH_FILE_HOOKS, p->launch_path);

        return r;
}

static int add_mounts(const Plan *p, char ***argv) {
        for (size_t i = 0; i < p->n_mounts; i++) {
                char *value;
                int r;

                if (p->mounts[i].flags & MOUNT_GUARD)
                        continue;

                r = mount_to_argument(&p->mounts[i], &value);
                if (r >= 0)
                        r = strv_add(argv, "--mount");
                if (r >= 0)
                        r = strv_take(argv, value);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_environment(const Plan *p, uint16_t port, char ***argv) {
        int r = 0;

        STRV_FOREACH(e, p->guest_env) {
                r = strv_addf(argv, "--env=%s", *e);
                if (r < 0)
                        return r;
        }
        if (port == 0)
                return 0;

        r = strv_addf(argv, "--env=" GUEST_ENV_BRIDGE_PORT "=%u", (unsigned) port);
        if (r >= 0) {
                _cleanup_free_ char *forwards = NULL;

                for (size_t i = 0; i < p->n_services && r >= 0; i++) {
                        char *before, name[WIRE_SERVICE_MAX];

                        if (!p->services[i].guest_path)
                                continue;

                        before = TAKE_PTR(forwards);
                        r = asprintf_to(&forwards, "%s%s%s=%s", before ?: "", before ? "," : "",
                                        p->services[i].guest_path, service_format(p->services[i].id, name));
                        free(before);
                }
                if (r >= 0 && forwards)
                        r = strv_addf(argv, "--env=" GUEST_ENV_FORWARDS "=%s", forwards);
        }

        return r;
}

int plan_podman_argv(const Plan *p, uint16_t port, char ***ret) {
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = strv_add_many(&argv, p->request->settings->podman_bin, "run", "--rm", "-i", NULL);
        if (r >= 0 && p->tty)
                r = strv_add(&argv, "-t");
        if (r >= 0)
                r = add_identity(p, &argv);
        if (r >= 0)
                r = strv_add_many(&argv, "--cgroups=split", "--userns=keep-id:uid=1000,gid=1000", "--user=0:0",
                                "--entrypoint=" GUEST_PROGRAM, "--pull=never", "--http-proxy=false",
                                "--log-driver=none", "--detach-keys=", "--tz=local", "--pids-limit=0", NULL);
        if (r >= 0)
                r = add_isolation(p, port, &argv);
        if (r >= 0)
                r = add_mounts(p, &argv);
        if (r >= 0)
                r = add_environment(p, port, &argv);
        if (r >= 0)
                r = strv_addf(&argv, "--workdir=%s", p->directory);
        if (r >= 0)
                r = strv_add_many(&argv, "--", p->request->settings->image, NULL);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}
