/* SPDX-License-Identifier: MIT */
#pragma once

/* What a sandboxed launch will do, as a value. Making a plan reads, asks and decides, but changes nothing; sandbox.c carries
 * it out; tests compare it. Everything in it is the plan's own. */

#include <sys/types.h>

#include "basic/macro.h"
#include "basic/wire.h"
#include "launch/launch.h"
#include "launch/native-claude.h"
#include "launch/shared-settings.h"
#include "shared/guard-list.h"
#include "shared/host-programs.h"
#include "shared/host-trusted.h"
#include "shared/launch-dir.h"
#include "shared/subprocess.h"
#include "shared/tree-scan.h"
#include "shared/unit-name.h"

typedef enum MountKind {
        MOUNT_BIND,
        MOUNT_TMPFS,
} MountKind;

typedef enum MountFlags {
        MOUNT_READ_ONLY = 1 << 0,
        MOUNT_RELABEL = 1 << 1, /* SELinux: copies of ours, the work root and the profile; never the user's own dotfiles */
        MOUNT_GUARD = 1 << 2,   /* over a host-trusted entry, or over a directory above one: not podman makes it (src/guards) */
        MOUNT_LINKED = 1 << 3,  /* images may have a link at the target: then it is mounted where that leads; for no guard */
} MountFlags;

typedef struct Mount {
        MountKind kind;
        MountFlags flags;
        char *source; /* MOUNT_BIND: absolute, no link in it */
        char *target;
        const char *why; /* a few words, static */
} Mount;

/* A file that the launch directory will hold. */
typedef struct PlanFile {
        char *name; /* below the launch directory; only guest/ as a directory */
        char *data;
        size_t size;
} PlanFile;

/* A directory that the launch directory will hold, for a guard: a copy with links as links, or an empty one. */
typedef struct PlanTree {
        char *name;
        char *source; /* NULL: empty */
        bool locked;  /* git's mark of a worktree that prune leaves alone is added */
} PlanTree;

/* Something that a launch puts into the profile on the host, because a guard needs it there. */
typedef struct PlanCreation {
        const TrustedThing *thing;
        char *link; /* what the link that it replaces names, or NULL */
} PlanCreation;

typedef struct PlanService {
        ServiceId id;
        char *host_path;  /* as in the manifest, shared/manifest.h */
        char *guest_path; /* of the socket that leads to it; NULL: a program of the guest's asks by itself */
} PlanService;

typedef struct Plan {
        const LaunchRequest *request;
        char id[LAUNCH_ID_LENGTH + 1];
        LaunchUnits units;
        char *container;   /* the container's name */
        char *directory;   /* where the command starts, the caller's working directory */
        char *work_root;
        char *git_common;  /* the git directory to mount beside it, or NULL */
        char *launch_path; /* the launch directory */
        char *guest_bin;   /* the directory that becomes GUEST_BIN */
        NativeClaude native; /* the host's claude; source is NULL if the image's own is used */
        bool tty;
        Limits limits;     /* of the scope */
        RunningProcess git; /* asked for the identity: plan_git() takes the answer */

        Mount *mounts;
        size_t n_mounts, mounts_allocated;
        PlanFile *files;
        size_t n_files, files_allocated;
        PlanTree *trees;
        size_t n_trees, trees_allocated;
        PlanCreation *creations;
        size_t n_creations, creations_allocated;

        TreeScan tree;       /* host-trusted names in the work root */
        GuardList guards;
        char **git_dirs;     /* all git directories that the guest can write, absolute */
        char **named_programs; /* likewise: in command lines that git's configuration has */
        char **trusted_paths; /* further places in the work root that the host obeys, absolute: git's configuration names them */

        PlanService *services;
        size_t n_services, services_allocated;
        HostPrograms programs; /* what the supervisor may start for them */

        uint16_t hook_ports[HOOK_PORTS_MAX]; /* of the host's loopback, which claude's hooks call */
        size_t n_hook_ports;

        char **guest_env;   /* NAME=VALUE for podman's -e: no secret, every user can read argv */
        char **environment; /* NAME=VALUE for the launch's environment file */
        char **command;
} Plan;

int plan_new(const LaunchRequest *request, Plan **ret);
Plan *plan_free(Plan *p);
DEFINE_CLEANUP(Plan *, plan_free);
#define _cleanup_plan_ _cleanup_(plan_freep)

/* `path` with its links resolved, as far as it exists, which is how a mount's source must be given: the home directory, or the
 * profiles, may be reached through one. Only for places that no guest can write. NULL when out of memory. */
char *plan_resolve(const char *path);

/* Opens a file of the user's that the guest gets a copy of, see open_own_file(). -ENOENT: there is none, or a warning says why it is
 * left out; after other errors one was printed. */
int plan_open_own_file(const char *path);
void plan_warn_of_links(const char *path);

/* Adding to a plan: 0 or -ENOMEM. plan_add_file() owns `data` from entry on. plan_add_copy() plans a file of the launch
 * directory and mounts it read-only at `target`. */
int plan_add_mount(Plan *p, MountKind kind, const char *source, const char *target, MountFlags flags, const char *why);
int plan_add_file(Plan *p, const char *name, char *data, size_t size);
int plan_add_copy(Plan *p, const char *name, char *data, size_t size, const char *target, const char *why);
int plan_add_tree(Plan *p, const char *name, const char *source, bool locked);
int plan_add_creation(Plan *p, const TrustedThing *thing, const char *link);
int plan_add_service(Plan *p, ServiceId id, const char *host_path, const char *guest_path);

bool plan_has_service(const Plan *p, ServiceKind kind);

/* All parts but the first, and those that need a supervisor (plan_gpg) or wait for git (plan_git). 0 or negative errno, having said
 * what is wrong. */
int plan_parts(Plan *p);

/* The parts of a plan, each in a file of its own. All return 0 or negative errno, having said what is wrong. */
int plan_work_root(Plan *p);  /* directory, work_root, git_common: first of all, it refuses */
int plan_git_ask(Plan *p);    /* starts git: it is to work while others are waited for */
int plan_git(Plan *p);        /* ~/.gitconfig, identity */
int plan_ssh(Plan *p);        /* known_hosts, ~/.ssh, agents */
int plan_gpg(Plan *p);        /* agent, public keys */
int plan_desktop(Plan *p);    /* clipboard, browser */
int plan_claude(Plan *p);     /* command, native binary, environment */
int plan_mounts(Plan *p);     /* the mounts that every launch has */
int plan_tokens(Plan *p);     /* variables and tokens that are asked for; called by plan_claude() */
int plan_guards(Plan *p);     /* what lies over host-trusted files: after plan_mounts() */
int plan_infisical(Plan *p);  /* Infisical's; called by plan_tokens() */
int plan_links(Plan *p);      /* what the profile shares with ~/.claude */
int plan_mcp(Plan *p);        /* .mcp.json above the work root */
int plan_images(Plan *p);     /* images of MCP servers */
int plan_trust(Plan *p);      /* the host's own certificate authorities */

/* plan_trust() with another root directory than the host's, for tests. */
int plan_trust_below(Plan *p, const char *root);

/* What claude is told of the sandbox, in plain text; the caller frees. 0 or -ENOMEM. */
int plan_briefing(const Plan *p, char **ret);

/* podman's command line for the plan; `port` is the bridge's, 0 without one. Pure. */
int plan_podman_argv(const Plan *p, uint16_t port, char ***ret);

/* One --mount argument, CSV-quoted so that any character can stand in a path. 0, -ENOMEM, or -EINVAL for a path that cannot: podman's
 * reader takes a carriage return before a newline away. */
int mount_to_argument(const Mount *m, char **ret);
bool mount_path_is_expressible(const char *path);
