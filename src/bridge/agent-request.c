/* SPDX-License-Identifier: MIT */

#include "bridge/agent-request.h"

static const char *const kind_table[] = {
        [AGENT_REQUEST_INCOMPLETE] = "incomplete",
        [AGENT_REQUEST_BAD_LENGTH] = "bad length",
        [AGENT_REQUEST_REFUSED] = "refused",
        [AGENT_REQUEST_LIST] = "list",
        [AGENT_REQUEST_SIGN] = "sign",
        [AGENT_REQUEST_EXTENSION] = "extension",
};
static_assert(ELEMENTSOF(kind_table) == _AGENT_REQUEST_KIND_MAX, "every kind has a name");

const char *agent_request_kind_to_string(AgentRequestKind k) {
        return k < _AGENT_REQUEST_KIND_MAX ? kind_table[k] : "?";
}

/* A key, what is to be signed, flags, and nothing else, so that the agent cannot read something else in it
 * than we do. `missing` bytes of the request are not in `body`. */
static bool parse_sign(SshBytes body, size_t missing, AgentRequest *ret) {
        uint32_t n, flags;
        size_t all;

        if (!ssh_take_string(&body, &ret->key) || !ssh_take_u32(&body, &n))
                return false;

        all = body.n + missing;
        if (all < sizeof(flags) || n != all - sizeof(flags))
                return false;

        ret->data_is_whole = n <= body.n;
        ret->data = SSH_BYTES(body.p, MIN(n, body.n));
        return true;
}

static bool parse_extension(SshBytes body) {
        SshBytes name;

        return ssh_take_string(&body, &name) &&
               (ssh_bytes_are(name, "session-bind@openssh.com") || ssh_bytes_are(name, "query"));
}

AgentRequestKind agent_request_parse(SshBytes buf, AgentRequest *ret) {
        size_t missing;
        uint8_t type;
        uint32_t n;

        if (!ssh_take_u32(&buf, &n))
                return AGENT_REQUEST_INCOMPLETE;
        if (n == 0 || n > SSH_AGENT_MESSAGE_MAX)
                return AGENT_REQUEST_BAD_LENGTH;

        /* Of a long one no more than its head, however much there is by chance. */
        buf.n = MIN(buf.n, MIN(n, AGENT_HEAD_MAX - SSH_AGENT_LENGTH_SIZE));
        missing = n - buf.n;
        *ret = (AgentRequest) { .size = SSH_AGENT_LENGTH_SIZE + n };

        if (!ssh_take_byte(&buf, &type))
                return AGENT_REQUEST_INCOMPLETE;
        if (type == SSH_AGENTC_REQUEST_IDENTITIES)
                return n == 1 ? AGENT_REQUEST_LIST : AGENT_REQUEST_REFUSED;
        if (type != SSH_AGENTC_SIGN_REQUEST && type != SSH_AGENTC_EXTENSION)
                return AGENT_REQUEST_REFUSED;

        if (missing > 0 && ret->size - missing < AGENT_HEAD_MAX)
                return AGENT_REQUEST_INCOMPLETE;
        if (type == SSH_AGENTC_SIGN_REQUEST)
                return parse_sign(buf, missing, ret) ? AGENT_REQUEST_SIGN : AGENT_REQUEST_REFUSED;
        return parse_extension(buf) ? AGENT_REQUEST_EXTENSION : AGENT_REQUEST_REFUSED;
}
