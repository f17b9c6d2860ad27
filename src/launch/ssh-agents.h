/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

typedef enum AgentState {
        AGENT_DEAD,  /* no such socket, nobody behind it, silent, or no agent's answer */
        AGENT_EMPTY, /* answers, and holds no key that is wanted */
        AGENT_KEYS,
} AgentState;

#define SSH_AGENTS_PROBE_MAX 16

/* Asks each ssh-agent socket for its keys, all at once, within `timeout_usec` in all (draft-ietf-sshm-ssh-agent:
 * SSH_AGENTC_REQUEST_IDENTITIES). Those beyond SSH_AGENTS_PROBE_MAX are dead. `selectors` (ssh-key.h) says which keys
 * are wanted; NULL: all, and then an answer need not be there to its end. */
void ssh_agents_probe(char *const *paths, AgentState *states, size_t n, char *const *selectors, uint64_t timeout_usec);
