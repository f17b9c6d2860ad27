/* SPDX-License-Identifier: MIT */

#include <endian.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "bridge/agent-filter.h"
#include "shared/journal.h"

static const char *const turn_table[] = {
        [AGENT_TURN_GUEST] = "guest",
        [AGENT_TURN_ANSWER] = "answer",
        [AGENT_TURN_SIGNATURE] = "signature",
        [AGENT_TURN_LIST] = "list",
        [AGENT_TURN_LOOKUP] = "lookup",
};
static_assert(ELEMENTSOF(turn_table) == _AGENT_TURN_MAX, "every turn has a name");

const char *agent_turn_to_string(AgentTurn t) {
        return t < _AGENT_TURN_MAX ? turn_table[t] : "?";
}

static AgentStep say(AgentVerdict v) {
        return (AgentStep) { .verdict = v };
}

static void forget_signature(AgentFilter *f) {
        f->signature = agent_signature_free(f->signature);
        f->leave = AGENT_LEAVE_NONE;
}

void agent_filter_done(AgentFilter *f) {
        forget_signature(f);
}

/* Requests */

/* Leave is asked for when the request is complete, not before: it could be saved up by requests that are not. */
static AgentStep ask_leave(AgentFilter *f) {
        bool asked = f->leave == AGENT_LEAVE_ASKED;

        f->leave = AGENT_LEAVE_ASKED;
        return say(asked ? AGENT_WAIT : AGENT_ASK_LEAVE);
}

/* Some of a request whose fate is decided. */
static AgentStep take_request(AgentFilter *f, size_t n) {
        size_t used = MIN(n, f->request_left);

        if (f->turn == AGENT_TURN_SIGNATURE && used == f->request_left && f->leave != AGENT_LEAVE_GRANTED)
                return ask_leave(f);

        f->begun = true;
        f->request_left -= (uint32_t) used;
        if (!f->dropping)
                return (AgentStep) { .verdict = AGENT_PASS, .used = used, .pass = used };
        if (f->request_left > 0)
                return (AgentStep) { .verdict = AGENT_PASS, .used = used };

        f->dropping = false;
        return (AgentStep) { .verdict = AGENT_REFUSE, .used = used };
}

static AgentStep pass_request(AgentFilter *f, const AgentRequest *request, size_t n, AgentTurn turn) {
        f->turn = turn;
        f->begun = false;
        f->request_left = (uint32_t) request->size;
        return take_request(f, n);
}

static AgentStep refuse_request(AgentFilter *f, const AgentRequest *request, size_t n) {
        f->n_refused++;
        f->dropping = true;
        f->request_left = (uint32_t) request->size;
        return take_request(f, n);
}

/* First the agent is asked what it has: the journal tells the key's comment, by which it may be selected. */
static AgentStep sign_request(AgentFilter *f, const AgentRequest *request, size_t n) {
        if (!f->signature) {
                if (agent_signature_new(request, &f->signature) < 0)
                        return say(AGENT_NO_MEMORY);

                f->may_sign = ssh_key_is_selected(f->selectors, f->signature->fingerprint, NULL);
                f->turn = AGENT_TURN_LOOKUP;
                return say(AGENT_ASK);
        }

        if (f->may_sign)
                return pass_request(f, request, n, AGENT_TURN_SIGNATURE);

        forget_signature(f);
        return refuse_request(f, request, n);
}

AgentStep agent_filter_request(AgentFilter *f, SshBytes buf) {
        AgentRequest request;

        if (f->request_left > 0)
                return take_request(f, buf.n);
        if (f->turn != AGENT_TURN_GUEST)
                return say(AGENT_WAIT);

        switch (agent_request_parse(buf, &request)) {
        case AGENT_REQUEST_INCOMPLETE:
                return say(AGENT_WAIT);
        case AGENT_REQUEST_BAD_LENGTH:
                return say(AGENT_BAD);
        case AGENT_REQUEST_LIST:
                return pass_request(f, &request, buf.n, f->selectors ? AGENT_TURN_LIST : AGENT_TURN_ANSWER);
        case AGENT_REQUEST_SIGN:
                return sign_request(f, &request, buf.n);
        case AGENT_REQUEST_EXTENSION:
                return pass_request(f, &request, buf.n, AGENT_TURN_ANSWER);
        default:
                return refuse_request(f, &request, buf.n);
        }
}

void agent_filter_permit(AgentFilter *f) {
        f->leave = AGENT_LEAVE_GRANTED;
}

bool agent_filter_refuse(AgentFilter *f) {
        if (f->begun)
                return false;

        forget_signature(f);
        f->n_refused++;
        f->dropping = true;
        f->turn = AGENT_TURN_GUEST;
        return true;
}

/* Answers */

static AgentStep take_answer(AgentFilter *f, size_t n) {
        size_t used = MIN(n, f->answer_left);

        f->answer_left -= (uint32_t) used;
        if (f->answer_left == 0)
                f->turn = AGENT_TURN_GUEST;

        return (AgentStep) { .verdict = AGENT_PASS, .used = used, .pass = used };
}

static void put_u32(uint8_t *p, size_t value) {
        uint32_t n = htobe32((uint32_t) value);

        memcpy(p, &n, sizeof(n));
}

/* Takes the keys out that are not selected. Returns the new size; what is no list becomes a failure. */
static size_t select_keys(const AgentFilter *f, uint8_t *frame, size_t size) {
        uint8_t *const number = frame + SSH_AGENT_LENGTH_SIZE + 1;
        uint8_t *q = number + sizeof(uint32_t);
        SshIdentity identity;
        SshIdentities i;
        size_t n = 0;

        ssh_identities_begin(&i, SSH_BYTES(frame + SSH_AGENT_LENGTH_SIZE, size - SSH_AGENT_LENGTH_SIZE));
        while (ssh_identities_next(&i, &identity)) {
                char fingerprint[SSH_FINGERPRINT_SIZE];

                ssh_key_fingerprint(identity.key, fingerprint);
                if (!ssh_key_is_selected(f->selectors, fingerprint, &identity.comment))
                        continue;

                /* Never past what is still to be read. */
                memmove(q, identity.whole.p, identity.whole.n);
                q += identity.whole.n;
                n++;
        }

        if (!i.ok) {
                memcpy(frame, SSH_AGENT_FRAME_FAILURE, STRLEN(SSH_AGENT_FRAME_FAILURE));
                return STRLEN(SSH_AGENT_FRAME_FAILURE);
        }

        size = (size_t) (q - frame);
        put_u32(frame, size - SSH_AGENT_LENGTH_SIZE);
        put_u32(number, n);
        return size;
}

/* What the agent has to say of the key that is to sign: its comment, if it is there at all. */
static int look_up(AgentFilter *f, SshBytes message) {
        AgentSignature *s = f->signature;
        SshIdentity identity, found = {};
        SshIdentities i;

        ssh_identities_begin(&i, message);
        while (ssh_identities_next(&i, &identity))
                if (agent_signature_is_by(s, identity.key))
                        found = identity;
        if (!i.ok || !found.key.p) {
                /* Spelled in another way it could be a key that the agent has after all (it drops zeros before a number),
                 * and the journal would name one that does not exist. */
                f->may_sign = false;
                return 0;
        }

        f->may_sign = ssh_key_is_selected(f->selectors, s->fingerprint, &found.comment);
        s->comment = str_escape_n((const char *) found.comment.p, found.comment.n, JOURNAL_FOREIGN_TEXT_MAX);
        return s->comment ? 0 : -ENOMEM;
}

/* An answer that must be seen whole. */
static AgentStep take_list(AgentFilter *f, uint8_t *frame, size_t size) {
        AgentStep step = { .verdict = AGENT_PASS, .used = size };

        if (f->turn == AGENT_TURN_LIST)
                step.pass = select_keys(f, frame, size);
        else if (look_up(f, SSH_BYTES(frame + SSH_AGENT_LENGTH_SIZE, size - SSH_AGENT_LENGTH_SIZE)) < 0)
                return say(AGENT_NO_MEMORY);

        f->turn = AGENT_TURN_GUEST;
        return step;
}

AgentStep agent_filter_answer(AgentFilter *f, uint8_t *buf, size_t n) {
        SshBytes rest = SSH_BYTES(buf, n);
        uint32_t length;
        uint8_t type;
        AgentStep step;

        if (f->answer_left > 0)
                return take_answer(f, n);
        /* Unasked, or before all of the question has gone out: whose turn it is could not be told any more. */
        if (f->turn == AGENT_TURN_GUEST || f->request_left > 0)
                return say(AGENT_BAD);

        if (!ssh_take_u32(&rest, &length))
                return say(AGENT_WAIT);
        if (length == 0 || length > SSH_AGENT_MESSAGE_MAX)
                return say(AGENT_BAD);

        if (f->turn == AGENT_TURN_LIST || f->turn == AGENT_TURN_LOOKUP)
                return rest.n < length ? say(AGENT_WAIT) : take_list(f, buf, SSH_AGENT_LENGTH_SIZE + length);

        if (!ssh_take_byte(&rest, &type))
                return say(AGENT_WAIT);

        f->answer_left = SSH_AGENT_LENGTH_SIZE + length;
        step = take_answer(f, n);
        if (type == SSH_AGENT_SIGN_RESPONSE && f->signature) {
                f->n_signed++;
                step.made = TAKE_PTR(f->signature);
        }
        forget_signature(f);
        return step;
}
