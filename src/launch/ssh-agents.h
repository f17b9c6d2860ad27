/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

typedef enum AgentState {
        AGENT_DEAD,  /* no such socket, nobody behind it, silent, or no agent's answer */
        AGENT_EMPTY, /* answers, and holds no key that is wanted */
        AGENT_KEYS,
} AgentState;

#define SSH_AGENTS_PROBE_MAX 16

/* Where agents are looked for: $SSH_AUTH_SOCK and 1Password's. */
#define SSH_AGENTS_CANDIDATES_MAX 2

typedef struct SshAgents {
        char *paths[SSH_AGENTS_CANDIDATES_MAX]; /* sockets that are there, each once */
        AgentState states[SSH_AGENTS_CANDIDATES_MAX];
        size_t n;
        char *onepassword; /* where 1Password's would be */
} SshAgents;

/* Finds them, and asks all at once for keys that `selectors` selects, as below. 0 or -ENOMEM. */
int ssh_agents_find(const char *home, char *const *selectors, SshAgents *ret);
void ssh_agents_clear(SshAgents *a);
#define _cleanup_ssh_agents_ _cleanup_(ssh_agents_clear)

/* Asks each ssh-agent socket for its keys, all at once, within `timeout_usec` in all (draft-ietf-sshm-ssh-agent:
 * SSH_AGENTC_REQUEST_IDENTITIES). Those beyond SSH_AGENTS_PROBE_MAX are dead. `selectors` (ssh-key.h) says which keys
 * are wanted; NULL: all, and then an answer need not be there to its end. */
void ssh_agents_probe(char *const *paths, AgentState *states, size_t n, char *const *selectors, uint64_t timeout_usec);
