/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

typedef enum AgentState {
        AGENT_DEAD,  /* no such socket, nobody behind it, silent, or no agent's answer */
        AGENT_EMPTY, /* answers, and holds no key */
        AGENT_KEYS,
} AgentState;

#define SSH_AGENTS_PROBE_MAX 16

/* Asks each ssh-agent socket for its keys, all at once, within `timeout_usec` in all (draft-ietf-sshm-ssh-agent:
 * SSH_AGENTC_REQUEST_IDENTITIES). Those beyond SSH_AGENTS_PROBE_MAX are dead. */
void ssh_agents_probe(char *const *paths, AgentState *states, size_t n, uint64_t timeout_usec);
