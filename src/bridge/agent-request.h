/* SPDX-License-Identifier: MIT */
#pragma once

/* What a guest asks of an ssh-agent, as a pure function: bytes in, verdict out. Only what is named here may
 * reach the agent; a guest could otherwise lock it, empty it, or add keys of its own. */

#include "shared/ssh-wire.h"

/* So much of a request is looked at, and kept until it is there: its kind, the key, and, of a signature,
 * what is to be signed as far as it tells what for. The rest may be longer, and passes as it comes. */
#define AGENT_HEAD_MAX (16 * KIB)

typedef enum AgentRequestKind {
        AGENT_REQUEST_INCOMPLETE, /* more is needed to tell */
        AGENT_REQUEST_BAD_LENGTH, /* it ends the connection: nothing behind it means anything */
        AGENT_REQUEST_REFUSED,
        AGENT_REQUEST_LIST,
        AGENT_REQUEST_SIGN,
        AGENT_REQUEST_EXTENSION, /* session-bind@openssh.com or query */
        _AGENT_REQUEST_KIND_MAX,
} AgentRequestKind;

const char *agent_request_kind_to_string(AgentRequestKind k);

typedef struct AgentRequest {
        size_t size;   /* of the whole, its length included; more than there is if it is long */
        SshBytes key;  /* AGENT_REQUEST_SIGN */
        SshBytes data; /* AGENT_REQUEST_SIGN: what is to be signed, as far as it is in the head */
        bool data_is_whole;
} AgentRequest;

/* Looks at the request at the start of `buf`. `*ret` is set unless it is incomplete or of a bad length. */
AgentRequestKind agent_request_parse(SshBytes buf, AgentRequest *ret);
