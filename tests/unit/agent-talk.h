/* SPDX-License-Identifier: MIT */
#pragma once

/* The filter between a guest and an agent that a test plays: bytes go in, cut as the test says, and what comes
 * out on either side is kept. Include after cmocka.h. */

#include "basic/strv.h"
#include "bridge/agent-filter.h"
#include "ssh-messages.h"

typedef struct Talk {
        AgentFilter filter;
        size_t cut;                    /* so many bytes come at a time, from either side; 0: all */
        const char *const *comments;   /* of the agent's keys "k1", "k2"…; NULL: it answers a failure to a list */
        bool refuses;                  /* to sign */
        bool keeps_waiting;            /* the filter gets no answer when it asks for leave */
        Message guest, agent;          /* what they have sent, and is not judged yet */
        size_t guest_shown, agent_shown; /* so much of it the filter has seen */
        Message to_guest, to_agent;
        size_t answered;               /* so much of to_agent the agent has answered */
        unsigned n_made;
        char made[1024]; /* "fingerprint purpose name comment;" for each signature */
        bool bad;
} Talk;

static void talk_step(Talk *t, Message *from, AgentStep step) {
        AgentSignature *s = step.made;
        size_t n = strlen(t->made);

        assert_true(step.used <= from->n);
        assert_true(step.pass <= step.used);
        if (step.verdict == AGENT_PASS)
                put(from == &t->guest ? &t->to_agent : &t->to_guest, SSH_BYTES(from->p, step.pass));
        if (step.verdict == AGENT_REFUSE)
                put(&t->to_guest, LIT(SSH_AGENT_FRAME_FAILURE));
        if (step.verdict == AGENT_ASK)
                put(&t->to_agent, LIT(SSH_AGENT_FRAME_LIST));
        if (step.verdict == AGENT_ASK_LEAVE && !t->keeps_waiting)
                agent_filter_permit(&t->filter);
        t->bad = t->bad || step.verdict == AGENT_BAD;

        if (s) {
                t->n_made++;
                (void) snprintf(t->made + n, sizeof(t->made) - n, "%.10s %s %s %s;", s->fingerprint,
                                signature_purpose_to_string(s->purpose), s->name ?: "-", s->comment ?: "-");
                agent_signature_free(s);
        }

        from->n -= step.used;
        memmove(from->p, from->p + step.used, from->n);
}

/* Shows the filter what has been cut off so far of what a side has sent. Returns whether anything came of it. */
static bool talk_judge(Talk *t, Message *from, size_t *shown) {
        bool any = false;

        while (!t->bad && *shown > 0) {
                size_t n = from->n;
                AgentStep step;

                step = from == &t->guest ? agent_filter_request(&t->filter, SSH_BYTES(from->p, *shown))
                                         : agent_filter_answer(&t->filter, from->p, *shown);
                talk_step(t, from, step);
                *shown -= n - from->n;
                any = any || step.used > 0 || step.verdict == AGENT_ASK;
                if (step.used == 0 && (step.verdict != AGENT_ASK_LEAVE || t->keeps_waiting))
                        break;
        }

        return any;
}

/* One more piece of what a side has sent. */
static bool talk_show(Talk *t, const Message *from, size_t *shown) {
        if (*shown == from->n)
                return false;

        *shown = t->cut == 0 ? from->n : MIN(from->n, *shown + t->cut);
        return true;
}

/* The agent answers what has come whole. */
static bool talk_answer(Talk *t) {
        SshBytes b = SSH_BYTES(t->to_agent.p + t->answered, t->to_agent.n - t->answered), frame;

        if (!ssh_take_string(&b, &frame))
                return false;

        t->answered += SSH_AGENT_LENGTH_SIZE + frame.n;
        if (frame.p[0] == SSH_AGENTC_REQUEST_IDENTITIES && t->comments)
                put_list(&t->agent, t->comments);
        else if (frame.p[0] == SSH_AGENTC_SIGN_REQUEST && !t->refuses)
                put_frame(&t->agent, SSH_AGENT_SIGN_RESPONSE, LIT("\0\0\0\x09signature"));
        else
                put(&t->agent, LIT(SSH_AGENT_FRAME_FAILURE));
        return true;
}

/* Until nothing comes of anything any more. */
_unused_ static void talk(Talk *t) {
        for (bool any = true; any && !t->bad;) {
                any = talk_judge(t, &t->agent, &t->agent_shown);
                any = talk_judge(t, &t->guest, &t->guest_shown) || any;
                any = talk_answer(t) || any;
                any = talk_show(t, &t->guest, &t->guest_shown) || any;
                any = talk_show(t, &t->agent, &t->agent_shown) || any;
        }
}

_unused_ static Talk *talk_new(void) {
        Talk *t = calloc(1, sizeof(Talk));

        assert_non_null(t);
        return t;
}

_unused_ static void talk_free(Talk *t) {
        agent_filter_done(&t->filter);
        free(t);
}
