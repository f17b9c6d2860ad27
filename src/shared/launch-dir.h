/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory of one launch, $XDG_RUNTIME_DIR/claude-profile/<profile>-<id>/. Its launcher holds a lock (flock) on it for
 * its whole life; the kernel drops the lock however the launcher ends, so a directory without one is a remain. Whoever looks
 * holds a lock for a moment, too.
 *
 *   launch.json   the bridge's manifest: a credential of claude-bridge@<profile>-<id>.service
 *   directory     where the launch was started
 *   cleanup.json  how to remove the launch's container, for the supervisor
 *   programs.json which programs of the host it may start for the guest, likewise
 *   hooks/        makes the container's runtime start claude-sandbox-guards
 *   fault         what that could not do, a sentence
 *   guards.json   the mounts that guard host-trusted files (guard-list.h), for that and for the supervisor
 *   trust-scope.json, trust-before  the state of what the host trusts before the guest started (trust-snapshot.h), likewise
 *   lifted        what the supervisor saw of the latter: a JSON object a line (supervisor/keep.h)
 *   guest/        what the guest sees in GUEST_LAUNCH (basic/wire.h)
 *   …             copies that are mounted one by one */

#include <sys/types.h>

#include "basic/macro.h"
#include "shared/dirs.h"

#define LAUNCH_ID_LENGTH 8
#define LAUNCH_FILE_MANIFEST "launch.json"
#define LAUNCH_FILE_DIRECTORY "directory"
#define LAUNCH_FILE_CLEANUP "cleanup.json"
#define LAUNCH_FILE_GUARDS "guards.json"
#define LAUNCH_FILE_HOOKS "hooks"
#define LAUNCH_FILE_FAULT "fault"
#define LAUNCH_FILE_LIFTED "lifted"
#define LAUNCH_FILE_PID "pid" /* podman's: the container's first process */
#define LAUNCH_FILE_PROGRAMS "programs.json"
#define LAUNCH_FILE_TRUST_SCOPE "trust-scope.json"
#define LAUNCH_FILE_TRUST_BEFORE "trust-before"

/* Splits "<profile>-<id>". Returns 0, -EINVAL or -ENOMEM; `*ret_profile` is the caller's, `*ret_id` points into `name`. */
int launch_dir_parse_name(const char *name, char **ret_profile, const char **ret_id);

/* Opens $XDG_RUNTIME_DIR/claude-profile, made 0700 if need be; must be a directory of this user's. Returns a descriptor or
 * negative errno. */
int launch_base_open(const Dirs *dirs);

/* Makes and locks `<profile>-<id>` below `base_fd`. Returns the directory's descriptor, which holds the lock, or negative
 * errno; -EEXIST: take another id. */
int launch_dir_create(int base_fd, const char *name);

/* Opens and locks a directory whose launcher is gone. -EBUSY: its launcher lives. Otherwise a descriptor or negative
 * errno. */
int launch_dir_claim(int base_fd, const char *name);

/* Whether its launcher lives: 1, 0 or negative errno. */
int launch_dir_is_alive(int base_fd, const char *name);

/* Whether any launch of `profile` runs: 1, 0 or negative errno. No runtime directory: 0. */
int launch_any_alive(const Dirs *dirs, const char *profile);

/* Calls `f` for the name of each launch directory of `profile` (NULL: of all), also for one that has no name of its own yet
 * (".new-<profile>-<id>"); what `f` returns, if negative, ends it. 0 or negative errno. */
int launch_dir_foreach(int base_fd, const char *profile, int (*f)(int base_fd, const char *name, void *userdata),
                void *userdata);

/* A process id that podman has written there. 0 or negative errno; -EINVAL while it is not written. */
int launch_dir_read_pid(int dir_fd, const char *name, pid_t *ret);
