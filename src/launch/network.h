/* SPDX-License-Identifier: MIT */
#pragma once

/* The sandbox's network, which is pasta's work: it can run and yet be of no use, when it found no address on this machine. Then a
 * launch that starts all the same fails slowly and in odd places. */

#include <sys/types.h>

#include "basic/macro.h"

typedef enum NetworkReach {
        NETWORK_NONE,       /* nothing but the loopback */
        NETWORK_LINK_LOCAL, /* only addresses that pasta made up: 169.254.0.0/16 or fe80::/10 */
        NETWORK_GLOBAL,
} NetworkReach;

/* How far the addresses in /proc/<pid>/net/fib_trie and /proc/<pid>/net/if_inet6 (proc_pid_net(5)) reach. Pure. */
NetworkReach network_reach_ipv4(const char *fib_trie);
NetworkReach network_reach_ipv6(const char *if_inet6);

/* Looks at the network of the container's process. Returns 0; -ENETUNREACH with a sentence in `*ret_why`; or negative errno. */
int network_check(pid_t container, char **ret_why);

/* A pidfd of the pasta that runs below the control group; -ESRCH when there is none. */
int network_helper_open(int guest_cgroup_fd);
