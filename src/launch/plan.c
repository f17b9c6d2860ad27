/* SPDX-License-Identifier: MIT */

/* A plan's life, and adding to it. The parts decide, each on its own:
 *
 *   plan-work-root.c  which directory the sandbox works in, and which it must not
 *   plan-git.c        git's identity and configuration
 *   plan-ssh.c        known hosts, the host's ssh-agents
 *   plan-gpg.c        the host's gpg-agent, public keys
 *   plan-desktop.c    the host's clipboard and browser
 *   plan-guards.c     what lies over host-trusted files (guard-profile.c, guard-git.c)
 *   plan-links.c      what the profile shares with ~/.claude
 *   plan-mcp.c        MCP servers of the directories above
 *   plan-images.c     images of MCP servers
 *   plan-trust.c      the host's own certificate authorities
 *   plan-claude.c     the command, its environment, the host's claude binary
 *   plan-briefing.c   what claude is told of the sandbox
 *   plan-tokens.c     variables and tokens that are asked for
 *   plan-infisical.c  Infisical's tokens
 *   plan-podman.c     podman's command line for all that
 *
 * Later parts see what earlier ones put in; the order is that of plan_parts(). */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/random.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/guest-program.h"
#include "launch/open-own.h"
#include "launch/plan.h"

char *plan_resolve(const char *path) {
        size_t n = strlen(path);

        while (n > 0) {
                _cleanup_free_ char *head = strndup(path, n), *real = NULL;

                if (!head)
                        return NULL;
                real = realpath(head, NULL);
                if (real)
                        return path[n] == '\0' ? TAKE_PTR(real) : path_join(real, path + n + 1);

                while (n > 0 && path[n - 1] != '/')
                        n--;
                while (n > 0 && path[n - 1] == '/')
                        n--;
        }

        return strdup(path);
}

int plan_new(const LaunchRequest *request, Plan **ret) {
        unsigned char id[LAUNCH_ID_LENGTH / 2];
        _cleanup_free_ char *runtime = NULL;
        _cleanup_plan_ Plan *p = NULL;
        const char *name = request->profile->name;
        int r;

        p = new0(Plan, 1);
        if (!p)
                return log_oom();

        p->request = request;
        r = random_bytes(id, sizeof(id));
        if (r < 0)
                return log_error(r, "Cannot get random bytes");
        hex_encode(id, sizeof(id), p->id);

        runtime = request->dirs->runtime ? plan_resolve(request->dirs->runtime) : strdup("");
        if (!runtime || launch_units_make(name, p->id, &p->units) < 0 ||
                        asprintf_to(&p->container, "claude-%s-%s", name, p->id) < 0 ||
                        asprintf_to(&p->launch_path, "%s/%s-%s", runtime, name, p->id) < 0)
                return log_oom();

        settings_limits(request->settings, &p->limits);
        limits_override(&p->limits, &request->limits);
        p->tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

        *ret = TAKE_PTR(p);
        return 0;
}

Plan *plan_free(Plan *p) {
        if (!p)
                return NULL;

        for (size_t i = 0; i < p->n_mounts; i++) {
                free(p->mounts[i].source);
                free(p->mounts[i].target);
        }
        for (size_t i = 0; i < p->n_files; i++) {
                free(p->files[i].name);
                if (p->files[i].data)
                        explicit_bzero(p->files[i].data, p->files[i].size);
                free(p->files[i].data);
        }
        for (size_t i = 0; i < p->n_trees; i++) {
                free(p->trees[i].name);
                free(p->trees[i].source);
        }
        for (size_t i = 0; i < p->n_creations; i++)
                free(p->creations[i].link);
        for (size_t i = 0; i < p->n_services; i++) {
                free(p->services[i].host_path);
                free(p->services[i].guest_path);
        }
        free(p->mounts);
        free(p->files);
        free(p->trees);
        free(p->creations);
        free(p->services);
        tree_scan_clear(&p->tree);
        guard_list_clear(&p->guards);
        strv_free(p->git_dirs);
        strv_free(p->named_programs);
        strv_free(p->trusted_paths);
        host_programs_clear(&p->programs);

        subprocess_abandon(&p->git);
        launch_units_clear(&p->units);
        free(p->container);
        free(p->directory);
        free(p->work_root);
        free(p->git_common);
        free(p->launch_path);
        free(p->guest_bin);
        native_claude_clear(&p->native);
        strv_free(p->guest_env);
        strv_free(p->environment);
        strv_free(p->command);
        free(p);
        return NULL;
}

int plan_add_mount(Plan *p, MountKind kind, const char *source, const char *target, MountFlags flags, const char *why) {
        Mount m = { .kind = kind, .flags = flags, .why = why };

        if (grow(&p->mounts, &p->mounts_allocated, p->n_mounts + 1, sizeof(Mount)) < 0 ||
                        strdup_to(&m.source, source) < 0 || strdup_to(&m.target, target) < 0) {
                free(m.source);
                return -ENOMEM;
        }

        p->mounts[p->n_mounts++] = m;
        return 0;
}

void plan_warn_of_links(const char *path) {
        _cleanup_free_ char *shown = str_escape(path);

        log_warning("%s is reached by way of several links, of which a sandbox could have made one; it is left out.", shown ?: "?");
}

int plan_open_own_file(const char *path) {
        int fd;

        fd = open_own_file(path);
        if (fd == -ELOOP) {
                plan_warn_of_links(path);
                return -ENOENT;
        }

        return fd < 0 && fd != -ENOENT ? log_error(fd, "Cannot read %s", path) : fd;
}

int plan_add_file(Plan *p, const char *name, char *data, size_t size) {
        PlanFile f = { .data = data, .size = size };

        if (grow(&p->files, &p->files_allocated, p->n_files + 1, sizeof(PlanFile)) < 0 ||
                        strdup_to(&f.name, name) < 0) {
                free(data);
                return -ENOMEM;
        }

        p->files[p->n_files++] = f;
        return 0;
}

int plan_add_copy(Plan *p, const char *name, char *data, size_t size, const char *target, const char *why) {
        _cleanup_free_ char *source = NULL;
        int r;

        r = plan_add_file(p, name, data, size);
        if (r < 0)
                return r;

        source = path_join(p->launch_path, name);
        if (!source)
                return -ENOMEM;

        return plan_add_mount(p, MOUNT_BIND, source, target, MOUNT_READ_ONLY | MOUNT_RELABEL, why);
}

int plan_add_tree(Plan *p, const char *name, const char *source, bool locked) {
        PlanTree t = { .locked = locked };

        if (grow(&p->trees, &p->trees_allocated, p->n_trees + 1, sizeof(PlanTree)) < 0 || strdup_to(&t.name, name) < 0 ||
                        strdup_to(&t.source, source) < 0) {
                free(t.name);
                return -ENOMEM;
        }

        p->trees[p->n_trees++] = t;
        return 0;
}

int plan_add_creation(Plan *p, const TrustedThing *thing, const char *link) {
        PlanCreation c = { .thing = thing };

        if (grow(&p->creations, &p->creations_allocated, p->n_creations + 1, sizeof(PlanCreation)) < 0 ||
                        strdup_to(&c.link, link) < 0)
                return -ENOMEM;

        p->creations[p->n_creations++] = c;
        return 0;
}

int plan_add_service(Plan *p, ServiceId id, const char *host_path, const char *guest_path) {
        PlanService s = { .id = id };

        if (grow(&p->services, &p->services_allocated, p->n_services + 1, sizeof(PlanService)) < 0 ||
                        strdup_to(&s.host_path, host_path) < 0 || strdup_to(&s.guest_path, guest_path) < 0) {
                free(s.host_path);
                return -ENOMEM;
        }

        p->services[p->n_services++] = s;
        return 0;
}

bool plan_has_service(const Plan *p, ServiceKind kind) {
        for (size_t i = 0; i < p->n_services; i++)
                if (p->services[i].id.kind == kind)
                        return true;

        return false;
}

static int add_launch_subdir(Plan *p, const char *name, const char *target, const char *why) {
        _cleanup_free_ char *source = NULL;

        source = path_join(p->launch_path, name);
        if (!source)
                return -ENOMEM;

        return plan_add_mount(p, MOUNT_BIND, source, target, MOUNT_READ_ONLY | MOUNT_RELABEL, why);
}

int plan_mounts(Plan *p) {
        _cleanup_free_ char *guest_bin = NULL, *profile = NULL;
        const MountFlags shared = MOUNT_RELABEL;
        int r;

        r = guest_program_directory(p->request->dirs, GUEST_PROGRAM_INSTALLED, &guest_bin);
        if (r < 0)
                return log_error(r, "Cannot use the guest program " GUEST_PROGRAM_INSTALLED);
        p->guest_bin = plan_resolve(guest_bin);
        profile = plan_resolve(p->request->profile->path);
        if (!p->guest_bin || !profile)
                return log_oom();

        r = plan_add_mount(p, MOUNT_TMPFS, NULL, GUEST_RUN, 0, "the guest program's own files");
        if (r >= 0)
                r = add_launch_subdir(p, "guest", GUEST_LAUNCH, "the launch's environment and command");
        if (r >= 0)
                r = plan_add_mount(p, MOUNT_BIND, p->guest_bin, GUEST_BIN, MOUNT_READ_ONLY | MOUNT_RELABEL,
                                "the guest program");
        if (r >= 0)
                r = plan_add_mount(p, MOUNT_BIND, p->work_root, p->work_root, shared, "work root");
        if (r >= 0 && p->git_common)
                r = plan_add_mount(p, MOUNT_BIND, p->git_common, p->git_common, shared, "git common directory");
        if (r >= 0)
                r = plan_add_mount(p, MOUNT_BIND, profile, GUEST_CLAUDE_DIR, shared, "profile");

        return r < 0 ? log_oom() : 0;
}

int plan_parts(Plan *p) {
        static int (*const parts[])(Plan *p) = { plan_ssh, plan_desktop, plan_mounts, plan_guards, plan_links, plan_mcp,
                plan_images, plan_trust, plan_claude };

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                int r;

                r = parts[i](p);
                if (r < 0)
                        return r;
        }

        return 0;
}
