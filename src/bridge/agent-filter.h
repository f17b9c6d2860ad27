/* SPDX-License-Identifier: MIT */
#pragma once

/* What passes between a guest and an ssh-agent, as a state machine that does no input or output: it is shown
 * bytes, and says what becomes of them. service-ssh.c has the theory. */

#include "bridge/agent-signature.h"

typedef enum AgentTurn {
        AGENT_TURN_GUEST,     /* no answer is owed */
        AGENT_TURN_ANSWER,    /* the agent owes one, which passes as it comes */
        AGENT_TURN_SIGNATURE, /* likewise, and it may be a signature */
        AGENT_TURN_LIST,      /* it owes a list of keys, of which only some pass */
        AGENT_TURN_LOOKUP,    /* likewise, which only we look at: a request to sign waits for it */
        _AGENT_TURN_MAX,
} AgentTurn;

const char *agent_turn_to_string(AgentTurn t);

/* To sign: the last of a request passes when there is leave for what comes of it. */
typedef enum AgentLeave {
        AGENT_LEAVE_NONE,
        AGENT_LEAVE_ASKED,
        AGENT_LEAVE_GRANTED,
} AgentLeave;

typedef struct AgentFilter {
        char *const *selectors; /* somebody else's; NULL: all keys */
        AgentTurn turn;
        bool dropping;         /* what is left of the request is one that was refused */
        bool may_sign;         /* the request to sign that was looked up may pass */
        bool begun;            /* and some of it has passed */
        AgentLeave leave;
        uint32_t request_left; /* bytes of a request that has begun to pass */
        uint32_t answer_left;
        AgentSignature *signature; /* what was asked for, until the agent has answered it */
        uint64_t n_refused;        /* requests */
        uint64_t n_signed;
} AgentFilter;

typedef enum AgentVerdict {
        AGENT_WAIT,      /* for more bytes, or, of the guest's, for the agent's answer */
        AGENT_PASS,      /* `used` bytes are done with, `pass` of them go on to the other side */
        AGENT_REFUSE,    /* likewise, and the guest gets SSH_AGENT_FRAME_FAILURE */
        AGENT_ASK,       /* the agent gets SSH_AGENT_FRAME_LIST */
        AGENT_ASK_LEAVE, /* to be answered by agent_filter_permit() or agent_filter_refuse() */
        AGENT_BAD,       /* this is no such protocol: the end */
        AGENT_NO_MEMORY, /* likewise */
} AgentVerdict;

typedef struct AgentStep {
        AgentVerdict verdict;
        size_t used;
        size_t pass;
        AgentSignature *made; /* now, for the journal; the caller's. Usually NULL */
} AgentStep;

/* Whether bytes of the guest's need not wait for an answer, the agent's or one to AGENT_ASK_LEAVE. */
static inline bool agent_filter_is_ready(const AgentFilter *f) {
        return (f->turn == AGENT_TURN_GUEST || f->request_left > 0) && f->leave != AGENT_LEAVE_ASKED;
}

/* There is leave for the request to sign. */
void agent_filter_permit(AgentFilter *f);

/* There is none: the request is refused. Returns whether that can be: not when the agent has some of it, which
 * must be the end of the connection. */
bool agent_filter_refuse(AgentFilter *f);

/* Ends what agent_filter_request() and agent_filter_answer() began; a filter begins as all zero. */
void agent_filter_done(AgentFilter *f);

/* What becomes of bytes that came from the guest, or from the agent; of what is not used, ask again. In an
 * answer, which must not be longer than SSH_AGENT_FRAME_MAX, the list of keys is changed in place. */
AgentStep agent_filter_request(AgentFilter *f, SshBytes buf);
AgentStep agent_filter_answer(AgentFilter *f, uint8_t *buf, size_t n);
