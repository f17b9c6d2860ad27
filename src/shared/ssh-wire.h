/* SPDX-License-Identifier: MIT */
#pragma once

/* The ssh-agent's protocol (draft-ietf-sshm-ssh-agent) as bytes: what is in a message, with every length
 * checked. A message travels behind its length, four bytes; all numbers are big-endian (RFC 4251, 5). */

#include "basic/macro.h"

enum {
        SSH_AGENT_FAILURE = 5,
        SSH_AGENTC_REQUEST_IDENTITIES = 11,
        SSH_AGENT_IDENTITIES_ANSWER = 12,
        SSH_AGENTC_SIGN_REQUEST = 13,
        SSH_AGENT_SIGN_RESPONSE = 14,
        SSH_AGENTC_EXTENSION = 27,
};

#define SSH_AGENT_MESSAGE_MAX (256 * KIB) /* OpenSSH's own limit; the four bytes of the length not counted */
#define SSH_AGENT_LENGTH_SIZE 4
#define SSH_AGENT_FRAME_MAX (SSH_AGENT_LENGTH_SIZE + SSH_AGENT_MESSAGE_MAX)

/* Both are whole frames: a length and one byte. */
#define SSH_AGENT_FRAME_FAILURE "\0\0\0\1\5"
#define SSH_AGENT_FRAME_LIST "\0\0\0\1\x0b"

typedef struct SshBytes {
        const uint8_t *p; /* somebody else's */
        size_t n;
} SshBytes;

#define SSH_BYTES(data, size) ((SshBytes) { .p = (const uint8_t *) (data), .n = (size) })

bool ssh_bytes_equal(SshBytes a, SshBytes b);
bool ssh_bytes_are(SshBytes b, const char *s);

/* Each takes something off the front, or returns false and takes nothing. A string is bytes behind their
 * number. */
bool ssh_take_byte(SshBytes *b, uint8_t *ret);
bool ssh_take_u32(SshBytes *b, uint32_t *ret);
bool ssh_take_bytes(SshBytes *b, size_t n, SshBytes *ret);
bool ssh_take_string(SshBytes *b, SshBytes *ret);

/* The keys in an answer to SSH_AGENTC_REQUEST_IDENTITIES, one after the other:
 *
 *     ssh_identities_begin(&i, message);
 *     while (ssh_identities_next(&i, &identity))
 *             …
 *     if (!i.ok)
 *             it was none, or it broke off; or something stands behind it
 */
typedef struct SshIdentities {
        SshBytes rest;
        uint32_t left;
        bool ok;
} SshIdentities;

typedef struct SshIdentity {
        SshBytes whole; /* as it is in the message, lengths and all */
        SshBytes key;
        SshBytes comment;
} SshIdentity;

void ssh_identities_begin(SshIdentities *i, SshBytes message);
bool ssh_identities_next(SshIdentities *i, SshIdentity *ret);
