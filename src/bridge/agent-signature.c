/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/str.h"
#include "bridge/agent-signature.h"
#include "shared/journal.h"

#define SSH_MSG_USERAUTH_REQUEST 50

static const char *const purpose_table[] = {
        [SIGNATURE_OTHER] = "other",
        [SIGNATURE_USER] = "user-authentication",
        [SIGNATURE_FILE] = "sshsig",
};
static_assert(ELEMENTSOF(purpose_table) == _SIGNATURE_PURPOSE_MAX, "every purpose has a name");

const char *signature_purpose_to_string(SignaturePurpose p) {
        return p < _SIGNATURE_PURPOSE_MAX ? purpose_table[p] : "?";
}

/* What follows the session's identifier. The key that is named once more, `with`, is not compared: a server may
 * take it in another spelling, and to the journal the shape says what the signature is good for. */
static bool parse_login(SshBytes d, SshBytes *ret_user) {
        SshBytes service, method, algorithm, with, host;
        uint8_t type, has_signature;

        if (!ssh_take_byte(&d, &type) || type != SSH_MSG_USERAUTH_REQUEST ||
                        !ssh_take_string(&d, ret_user) || !ssh_take_string(&d, &service) ||
                        !ssh_take_string(&d, &method) || !ssh_take_byte(&d, &has_signature) ||
                        has_signature == 0 || /* servers take any other value */ !ssh_take_string(&d, &algorithm) ||
                        !ssh_take_string(&d, &with))
                return false;

        if (ssh_bytes_are(method, "publickey-hostbound-v00@openssh.com"))
                return ssh_take_string(&d, &host) && d.n == 0;
        return ssh_bytes_are(method, "publickey") && d.n == 0;
}

/* To clients that call themselves old ones, sshd takes the identifier without its length (SSH_OLD_SESSIONID in
 * OpenSSH's compat.c): it is a hash of the key exchange's kind, SHA-1 to SHA-512. */
static bool parse_user(SshBytes data, SshBytes *ret_user) {
        static const size_t hash_sizes[] = { 20, 32, 48, 64 };
        SshBytes d = data, session;

        if (ssh_take_string(&d, &session) && parse_login(d, ret_user))
                return true;

        for (size_t i = 0; i < ELEMENTSOF(hash_sizes); i++) {
                d = data;
                if (ssh_take_bytes(&d, hash_sizes[i], &session) && parse_login(d, ret_user))
                        return true;
        }

        return false;
}

static bool parse_file(SshBytes d, SshBytes *ret_namespace) {
        SshBytes magic, reserved, hash, sum;

        return ssh_take_bytes(&d, STRLEN("SSHSIG"), &magic) && ssh_bytes_are(magic, "SSHSIG") &&
               ssh_take_string(&d, ret_namespace) && ssh_take_string(&d, &reserved) &&
               ssh_take_string(&d, &hash) && ssh_take_string(&d, &sum) && d.n == 0;
}

SignaturePurpose signature_purpose(SshBytes data, SshBytes *ret_name) {
        if (parse_user(data, ret_name))
                return SIGNATURE_USER;
        if (parse_file(data, ret_name))
                return SIGNATURE_FILE;

        *ret_name = SSH_BYTES(NULL, 0);
        return SIGNATURE_OTHER;
}

static void sum_of(SshBytes key, uint8_t ret[SHA256_SIZE]) {
        Sha256 h;

        sha256_begin(&h);
        sha256_add(&h, key.p, key.n);
        sha256_finish(&h, ret);
}

int agent_signature_new(const AgentRequest *request, AgentSignature **ret) {
        _cleanup_agent_signature_ AgentSignature *s = NULL;
        SshBytes name;

        s = new0(AgentSignature, 1);
        if (!s)
                return -ENOMEM;

        sum_of(request->key, s->key);
        ssh_key_fingerprint(request->key, s->fingerprint);
        if (request->data_is_whole)
                s->purpose = signature_purpose(request->data, &name);
        if (s->purpose != SIGNATURE_OTHER) {
                s->name = str_escape_n((const char *) name.p, name.n, JOURNAL_FOREIGN_TEXT_MAX);
                if (!s->name)
                        return -ENOMEM;
        }

        *ret = TAKE_PTR(s);
        return 0;
}

AgentSignature *agent_signature_free(AgentSignature *s) {
        if (!s)
                return NULL;

        free(s->name);
        free(s->comment);
        free(s);
        return NULL;
}

bool agent_signature_is_by(const AgentSignature *s, SshBytes key) {
        uint8_t sum[SHA256_SIZE];

        sum_of(key, sum);
        return memcmp(sum, s->key, sizeof(sum)) == 0;
}
