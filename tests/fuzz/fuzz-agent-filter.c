/* SPDX-License-Identifier: MIT */

/* A guest and an ssh-agent, both of which say anything. The agent sees whole requests of the kinds that are allowed, and no
 * signature is asked of it but with a key that is selected; the guest sees keys that are selected; and how the bytes are cut
 * changes nothing.
 *
 * The input: a byte, whose lowest bit says whether keys are selected, a second that says how bytes are cut, two bytes with the
 * number of those that the guest sends, and those; the rest is what the agent answers. */

#include <stdlib.h>
#include <string.h>

#include "bridge/agent-filter.h"
#include "fuzz.h"

#define SELECTED "SHA256:arnx6499M4j0+dWG9m6Z/VQIDfLERvDlhmiwnAihbdA" /* of "k1" */

static char *const selectors[] = { (char *) SELECTED, (char *) "work*", NULL };

typedef struct Stream {
        uint8_t *p; /* malloc()ed to its length, so that a byte too many is seen */
        size_t n;
} Stream;

typedef struct Run {
        AgentFilter filter;
        size_t cut;
        Stream guest, agent; /* not used yet */
        Stream to_guest, to_agent;
        Stream looked_up; /* the last list that only the filter has seen */
        unsigned n_made;
        bool signing; /* some of a request to sign has passed */
        bool bad;
} Run;

static void stream_put(Stream *s, const void *p, size_t n) {
        s->p = realloc(s->p, s->n + n + 1);
        PROPERTY(s->p);
        if (n > 0)
                memcpy(s->p + s->n, p, n);
        s->n += n;
}

static void stream_drop(Stream *s, size_t n) {
        memmove(s->p, s->p + n, s->n - n);
        s->n -= n;
}

static bool is_selected(const Run *r, SshBytes key, const SshBytes *comment) {
        char fingerprint[SSH_FINGERPRINT_SIZE];

        ssh_key_fingerprint(key, fingerprint);
        return ssh_key_is_selected(r->filter.selectors, fingerprint, comment);
}

/* A frame that goes to the guest in place of a list. */
static void check_list(const Run *r, const uint8_t *p, size_t n) {
        SshIdentity identity;
        SshIdentities i;

        if (ssh_bytes_equal(SSH_BYTES(p, n), SSH_BYTES(SSH_AGENT_FRAME_FAILURE, 5)))
                return;

        ssh_identities_begin(&i, SSH_BYTES(p + SSH_AGENT_LENGTH_SIZE, n - SSH_AGENT_LENGTH_SIZE));
        while (ssh_identities_next(&i, &identity))
                PROPERTY(is_selected(r, identity.key, &identity.comment));
        PROPERTY(i.ok);
}

/* A request to sign begins to pass, or may when there is leave. */
static void check_sign(const Run *r, const uint8_t *p, size_t n) {
        SshIdentity identity;
        AgentRequest request;
        SshIdentities i;
        bool ok;

        PROPERTY(agent_request_parse(SSH_BYTES(p, n), &request) == AGENT_REQUEST_SIGN);
        ok = is_selected(r, request.key, NULL);

        ssh_identities_begin(&i, SSH_BYTES(r->looked_up.p, r->looked_up.n));
        while (ssh_identities_next(&i, &identity))
                ok = ok || (ssh_bytes_equal(identity.key, request.key) &&
                                is_selected(r, identity.key, &identity.comment));
        PROPERTY(ok);
}

static void begin_sign(Run *r, const uint8_t *p, size_t n) {
        if (!r->signing)
                check_sign(r, p, n);
        r->signing = true;
}

/* The request to sign is complete, and waits. */
static void take_leave(Run *r, const Stream *from) {
        PROPERTY(from == &r->guest && r->filter.request_left <= from->n);
        begin_sign(r, from->p, r->filter.request_left);
        PROPERTY(!agent_filter_is_ready(&r->filter));
        agent_filter_permit(&r->filter);
}

static void take_step(Run *r, Stream *from, AgentTurn turn, AgentStep step) {
        PROPERTY(step.used <= from->n && step.pass <= step.used);
        PROPERTY((step.verdict == AGENT_PASS || step.verdict == AGENT_REFUSE) == (step.used > 0));
        PROPERTY(step.verdict != AGENT_NO_MEMORY);

        if (from == &r->guest && r->filter.turn == AGENT_TURN_SIGNATURE && step.pass > 0) {
                begin_sign(r, from->p, step.pass);
                PROPERTY(r->filter.request_left > 0 || r->filter.leave == AGENT_LEAVE_GRANTED);
        }
        if (r->filter.turn != AGENT_TURN_SIGNATURE)
                r->signing = false;
        if (from == &r->agent && turn == AGENT_TURN_LIST && step.used > 0)
                check_list(r, from->p, step.pass);
        if (from == &r->agent && turn == AGENT_TURN_LOOKUP && step.used > 0) {
                r->looked_up.n = 0;
                stream_put(&r->looked_up, from->p + SSH_AGENT_LENGTH_SIZE, step.used - SSH_AGENT_LENGTH_SIZE);
        }

        stream_put(from == &r->guest ? &r->to_agent : &r->to_guest, from->p, step.pass);
        if (step.verdict == AGENT_REFUSE)
                stream_put(&r->to_guest, SSH_AGENT_FRAME_FAILURE, 5);
        if (step.verdict == AGENT_ASK)
                stream_put(&r->to_agent, SSH_AGENT_FRAME_LIST, 5);
        if (step.verdict == AGENT_ASK_LEAVE)
                take_leave(r, from);
        r->bad = r->bad || step.verdict == AGENT_BAD;
        if (step.made)
                r->n_made++;
        agent_signature_free(step.made);

        stream_drop(from, step.used);
}

/* Shows more and more of what a side has sent, until something comes of it. */
static bool show(Run *r, Stream *from) {
        for (size_t n = 0; n < from->n && !r->bad;) {
                AgentTurn turn = r->filter.turn;
                AgentStep step;
                uint8_t *copy;

                n = r->cut == 0 ? from->n : MIN(from->n, n + r->cut);
                copy = malloc(n);
                PROPERTY(copy);
                memcpy(copy, from->p, n);
                step = from == &r->guest ? agent_filter_request(&r->filter, SSH_BYTES(copy, n))
                                         : agent_filter_answer(&r->filter, copy, n);
                memcpy(from->p, copy, n);
                free(copy);

                take_step(r, from, turn, step);
                if (step.used > 0 || step.verdict == AGENT_ASK || step.verdict == AGENT_ASK_LEAVE)
                        return true;
        }

        return false;
}

static bool go_on(Run *r) {
        if (agent_filter_is_ready(&r->filter) && show(r, &r->guest))
                return true;

        return r->filter.turn != AGENT_TURN_GUEST && show(r, &r->agent);
}

static void run(Run *r) {
        while (!r->bad && go_on(r))
                ;
}

/* All that the agent has seen is allowed. */
static void check_requests(const Run *r) {
        SshBytes rest = SSH_BYTES(r->to_agent.p, r->to_agent.n);

        while (rest.n > 0) {
                AgentRequest request;
                SshBytes whole;
                AgentRequestKind kind;

                kind = agent_request_parse(rest, &request);
                PROPERTY(kind == AGENT_REQUEST_LIST || kind == AGENT_REQUEST_SIGN || kind == AGENT_REQUEST_EXTENSION);
                if (!ssh_take_bytes(&rest, request.size, &whole))
                        break;
        }
}

static void run_begin(Run *r, size_t cut, const uint8_t *data, size_t size) {
        size_t n = MIN((size_t) (data[2] << 8 | data[3]), size - 4);

        *r = (Run) { .cut = cut, .filter.selectors = data[0] & 1 ? selectors : NULL };
        stream_put(&r->guest, data + 4, n);
        stream_put(&r->agent, data + 4 + n, size - 4 - n);
        stream_put(&r->to_guest, NULL, 0);
        stream_put(&r->to_agent, NULL, 0);
}

static void run_end(Run *r) {
        agent_filter_done(&r->filter);
        free(r->guest.p);
        free(r->agent.p);
        free(r->to_guest.p);
        free(r->to_agent.p);
        free(r->looked_up.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Run whole, cut;

        if (size < 4)
                return 0;

        run_begin(&whole, 0, data, size);
        run(&whole);
        check_requests(&whole);

        run_begin(&cut, (size_t) data[1] + 1, data, size);
        run(&cut);
        PROPERTY(whole.bad == cut.bad && whole.n_made == cut.n_made);
        PROPERTY(ssh_bytes_equal(SSH_BYTES(whole.to_agent.p, whole.to_agent.n), SSH_BYTES(cut.to_agent.p, cut.to_agent.n)));
        PROPERTY(ssh_bytes_equal(SSH_BYTES(whole.to_guest.p, whole.to_guest.n), SSH_BYTES(cut.to_guest.p, cut.to_guest.n)));

        run_end(&whole);
        run_end(&cut);
        return 0;
}
