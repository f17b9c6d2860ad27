/* SPDX-License-Identifier: MIT */

/* What ssh in the guest gets: the host's known hosts (a copy, as the system-wide file), a directory ~/.ssh of the profile's own
 * that is kept between launches, and the host's agents through the bridge, those with keys first. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/plan.h"
#include "launch/ssh-agents.h"

#define KNOWN_HOSTS_MAX (16 * MIB)

static int add_known_hosts(Plan *p) {
        _cleanup_free_ char *path = NULL, *data = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n;
        int r;

        path = path_join(p->request->dirs->home, ".ssh/known_hosts");
        if (!path)
                return log_oom();

        fd = plan_open_own_file(path);
        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        r = io_read_all(fd, KNOWN_HOSTS_MAX, &data, &n);
        if (r < 0)
                return log_error(r, "Cannot read %s", path);

        r = plan_add_copy(p, "known_hosts", TAKE_PTR(data), n, "/etc/ssh/ssh_known_hosts", "copy of ~/.ssh/known_hosts");
        return r < 0 ? log_oom() : 0;
}

static int add_ssh_directory(Plan *p) {
        _cleanup_free_ char *path = NULL, *source = NULL;
        int r;

        r = asprintf_to(&path, "%s/profiles/%s/ssh", p->request->dirs->data, p->request->profile->name);
        source = r >= 0 ? plan_resolve(path) : NULL;
        if (source)
                r = plan_add_mount(p, MOUNT_BIND, source, GUEST_HOME "/.ssh", MOUNT_RELABEL, "the profile's own ~/.ssh, kept");

        return r < 0 || !source ? log_oom() : 0;
}

/* A pattern that fits nothing looks like an agent without keys. */
static int warn_unless_selected(const Plan *p, const SshAgents *c) {
        _cleanup_free_ char *origin = NULL;

        for (size_t i = 0; i < c->n; i++)
                if (c->states[i] == AGENT_KEYS)
                        return 0;

        origin = settings_describe_origin(p->request->settings, "CLAUDE_PROFILE_SANDBOX_SSH_KEYS");
        if (!origin)
                return log_oom();

        log_warning("No ssh-agent holds a key that SSHKeys= selects (%s): see ssh-add -l.", origin);
        return 0;
}

int plan_ssh(Plan *p) {
        const char *variable = getenv("SSH_AUTH_SOCK");
        _cleanup_ssh_agents_ SshAgents c = { 0 };
        unsigned index = 0;
        int r;

        r = add_known_hosts(p);
        if (r >= 0)
                r = add_ssh_directory(p);
        if (r < 0 || !p->request->settings->ssh_agent)
                return r;

        if (ssh_agents_find(p->request->dirs->home, p->request->settings->ssh_keys, &c) < 0)
                return log_oom();

        for (AgentState wanted = AGENT_KEYS; wanted > AGENT_DEAD; wanted--)
                for (size_t i = 0; i < c.n; i++) {
                        char guest[sizeof(GUEST_RUN) + 32];

                        if (c.states[i] != wanted)
                                continue;

                        (void) snprintf(guest, sizeof(guest), GUEST_RUN "/ssh-agent-%u.sock", index);
                        r = plan_add_service(p, (ServiceId) { SERVICE_SSH, index }, c.paths[i], guest);
                        if (r >= 0 && index == 0)
                                r = strv_addf(&p->guest_env, "SSH_AUTH_SOCK=%s", guest);
                        if (r < 0)
                                return log_oom();
                        index++;
                }

        if (index == 0)
                log_warning("No ssh-agent answers (SSH_AUTH_SOCK is %s): the sandbox gets none. Start one, e.g. eval $(ssh-agent).",
                                str_is_empty(variable) ? "not set" : "dead or no agent's socket");
        return index > 0 && p->request->settings->ssh_keys ? warn_unless_selected(p, &c) : 0;
}
