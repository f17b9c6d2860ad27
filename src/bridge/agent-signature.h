/* SPDX-License-Identifier: MIT */
#pragma once

/* A signature that a guest asks for: with which key, and what for, as far as what is to be signed tells. */

#include "bridge/agent-request.h"
#include "shared/sha256.h"
#include "shared/ssh-key.h"

typedef enum SignaturePurpose {
        SIGNATURE_OTHER,
        SIGNATURE_USER, /* authentication of an ssh user (RFC 4252, 7; OpenSSH's PROTOCOL, 2.6) */
        SIGNATURE_FILE, /* "ssh-keygen -Y sign", which git uses, too (OpenSSH's PROTOCOL.sshsig) */
        _SIGNATURE_PURPOSE_MAX,
} SignaturePurpose;

const char *signature_purpose_to_string(SignaturePurpose p);

typedef struct AgentSignature {
        uint8_t key[SHA256_SIZE]; /* the sum of all of the key, also of a certificate */
        char fingerprint[SSH_FINGERPRINT_SIZE];
        SignaturePurpose purpose;
        char *name;    /* the user's or the namespace, fit to be shown; NULL: none */
        char *comment; /* the key's, likewise; NULL: the agent has not listed it */
} AgentSignature;

/* Returns 0 or -ENOMEM. */
int agent_signature_new(const AgentRequest *request, AgentSignature **ret);
AgentSignature *agent_signature_free(AgentSignature *s);
DEFINE_CLEANUP(AgentSignature *, agent_signature_free);
#define _cleanup_agent_signature_ _cleanup_(agent_signature_freep)

/* Whether an agent lists the very key. */
bool agent_signature_is_by(const AgentSignature *s, SshBytes key);

/* What `data`, which is to be signed, is. The name is in `data`, and empty for SIGNATURE_OTHER. */
SignaturePurpose signature_purpose(SshBytes data, SshBytes *ret_name);
