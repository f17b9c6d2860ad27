/* SPDX-License-Identifier: MIT */
#pragma once

/* Guards seen from outside of a running sandbox: which are in place, and putting back those that are not. A process of its own, forked
 * here, does it in the container's name spaces: the caller must be single-threaded and of the user whose container it is. */

#include "shared/guard-list.h"

typedef enum GuardState {
        GUARD_IN_PLACE,
        GUARD_MISSING, /* the bare entry is there, for the guest, too */
        GUARD_GONE,    /* there is no entry, neither for the host nor for the guest */
        _GUARD_STATE_MAX,
} GuardState;

/* Looks what has become of each guard, and with `bind` first puts back those whose entry in `states` says GUARD_MISSING: to the guest
 * that must look like one step, so it has to be frozen meanwhile. `container_fd` is a pidfd of a process in the container. Returns 0 with
 * `states` (as many as there are guards) filled in, or negative errno, perhaps with the guard at fault in `*ret_fault` (an index, or
 * SIZE_MAX); -ESTALE: host and guest have different things at one place, for the moment or for good; -ELOOP: there is a link in the
 * way; -ENOSYS: the kernel is older than 5.12. */
int guards_settle(int container_fd, const GuardList *l, bool bind, GuardState *states, size_t *ret_fault);
