/* SPDX-License-Identifier: MIT */
#pragma once

/* The two halves of a relay to each other: relay.c watches, relay-flow.c moves bytes. Nobody else includes
 * this. */

#include "basic/relay.h"

#define RELAY_SCRATCH_SIZE (16 * KIB)
#define RELAY_ROUNDS_MAX 8 /* reads of one flow in one dispatch, so that nobody starves the others */
#define RELAY_ANSWERS_MAX 8 /* messages of a dialogue in one dispatch, for the same reason */

struct RelayShared {
        PipePool pool;
        char scratch[RELAY_SCRATCH_SIZE];
};

static inline bool end_is_socket(const RelayEnd *e) {
        return e->in == e->out;
}

static inline RelaySide side_other(RelaySide s) {
        return s == RELAY_A ? RELAY_B : RELAY_A;
}

static inline bool flow_is_over(const RelayFlow *f) {
        return f->state == RELAY_STATE_DONE || f->state == RELAY_STATE_BROKEN;
}

/* Whether something was read that is not yet written. */
static inline bool flow_is_loaded(const RelayFlow *f) {
        return f->left || f->pipe.n > 0;
}

/* Ends the watch and closes. */
void relay_close_end(Relay *r, int *fd, uint32_t *watched);

/* The source may be readable. Returns 0 or -ENOMEM. `told`: epoll says that there is something. */
int flow_read(Relay *r, RelaySide from, bool told);

/* The destination may take more, or has gone. */
void flow_writable(Relay *r, RelaySide from, bool gone);

/* Writes straight out, and keeps what the destination does not take. Returns 0 or -ENOMEM. */
int flow_pass(Relay *r, RelaySide from, const char *p, size_t n);

/* Drops what is left over. */
void flow_unload(Relay *r, RelayFlow *f);
