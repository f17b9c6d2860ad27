/* SPDX-License-Identifier: MIT */
#pragma once

/* Who may ask for what. Every process of the user reaches the socket, a bridge in a guest's hands too, and that of another profile's
 * supervisor as well: so the kernel is asked which process speaks, and systemd in which unit it runs. */

#include <sys/types.h>

#include "supervisor/request.h"

/* The user unit that a process is in, or NULL: none. 0, or negative errno when that cannot be told. In a file of its own, so that a
 * test program outside of systemd can link another. */
int peer_unit(pid_t pid, char **ret);

/* Whether who is in `unit` may send this request to the supervisor of `profile`. Pure: a launch's scope speaks for that launch, a bridge for its own. */
bool peer_may(const char *unit, const char *profile, const Request *request);

/* The control group of the scope `unit`, in which the process is, as below /sys/fs/cgroup; the caller frees. 0, -EPERM if the process is
 * not in it, or negative errno. */
int peer_scope(pid_t pid, const char *unit, char **ret);

/* The same of the text of /proc/<pid>/cgroup, pure. */
int scope_in_cgroup_file(const char *text, const char *unit, char **ret);
