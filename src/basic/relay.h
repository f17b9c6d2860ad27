/* SPDX-License-Identifier: MIT */
#pragma once

/* A relay passes bytes between two ends, both ways, until both directions are done. It has no event loop:
 * whoever owns it hooks its own (epoll, sd-event) in by two calls.
 *
 * The relay calls `watch` with the epoll mask that it wants on a descriptor whenever that mask changes.
 * Polling is level-triggered, except where the mask has EPOLLET: pass it on as it is. Mask 0: take the
 * descriptor out of the poll set (left in, it would spin: EPOLLHUP cannot be masked); the relay may close it
 * right after. The owner calls relay_dispatch() with what epoll said.
 *
 * All descriptors must be non-blocking, and the process must ignore SIGPIPE. A socket may still be
 * connecting: what is pushed in waits, and a failed connection ends the relay. A descriptor that epoll
 * refuses with EPERM (a regular file) is always ready. */

#include "basic/macro.h"
#include "basic/pipe-pool.h"

typedef struct Relay Relay;
typedef struct RelayShared RelayShared;

typedef enum RelaySide {
        RELAY_A,
        RELAY_B,
        _RELAY_SIDE_MAX,
} RelaySide;

enum {
        RELAY_E_FINISHED = 1, /* both directions are done: call relay_done() */
};

typedef enum RelayState {
        RELAY_STATE_OPEN,     /* reads, and writes what it has read */
        RELAY_STATE_DRAINING, /* the source has ended; what is left over must still be written */
        RELAY_STATE_DONE,     /* the end was passed on */
        RELAY_STATE_BROKEN,   /* the destination takes no more; what was left over is dropped */
        _RELAY_STATE_MAX,
} RelayState;

const char *relay_state_to_string(RelayState s);

typedef struct RelayEnd {
        int in; /* equal to `out` for a socket */
        int out;
        uint32_t watched_in; /* what `watch` was last told; for a socket in `watched_in` alone */
        uint32_t watched_out;
} RelayEnd;

typedef struct RelayFlow {
        RelayState state;
        bool bulk;      /* the last read filled the scratch buffer: splice next time */
        bool gathering; /* TCP's own delay is allowed while in bulk */
        bool no_splice; /* the kernel cannot splice from this source */
        int error;      /* negative errno when bytes may have been lost */
        uint64_t bytes; /* written to the destination */
        char *left;     /* read but not yet written; NULL when nothing is left over */
        size_t left_offset;
        size_t left_end;
        Pipe pipe;
} RelayFlow;

typedef int (*RelayWatch)(Relay *r, int fd, uint32_t events);

struct Relay {
        RelayShared *shared;
        RelayWatch watch; /* returns 0 or negative errno */
        RelayEnd ends[_RELAY_SIDE_MAX];
        RelayFlow flows[_RELAY_SIDE_MAX]; /* by source: flows[RELAY_A] goes from A to B */
};

/* What all relays of a process share: a scratch buffer and a few idle pipes. */
RelayShared *relay_shared_new(void);
RelayShared *relay_shared_free(RelayShared *s);
DEFINE_CLEANUP(RelayShared *, relay_shared_free);
#define _cleanup_relay_shared_ _cleanup_(relay_shared_freep)

/* Takes over the descriptors. Nothing is watched before relay_start(). */
void relay_init(Relay *r, RelayShared *shared, RelayWatch watch, RelayEnd a, RelayEnd b);
#define RELAY_PAIR(fd_in, fd_out) ((RelayEnd) { .in = (fd_in), .out = (fd_out) })
#define RELAY_SOCKET(fd) \
        ({ \
                int _fd = (fd); \
                RELAY_PAIR(_fd, _fd); \
        })

/* Passes bytes on as if `from` had sent them, behind what was read from it. Returns 0 or -ENOMEM. */
int relay_push(Relay *r, RelaySide from, const void *data, size_t n);

/* Begins to watch. Returns 0, RELAY_E_FINISHED, or negative errno: the relay is of no use any more. */
int relay_start(Relay *r);

/* Does what the events on one of its descriptors allow. Returns like relay_start(). */
int relay_dispatch(Relay *r, int fd, uint32_t revents);

/* Whether something was read that its destination does not take at present. */
bool relay_is_stalled(const Relay *r);

/* Takes the descriptor of an end out, a socket's, no longer watched: what is on its way there may be worth
 * waiting for. Says whether it has sent its last. Only relay_done() may follow. */
int relay_take_end(Relay *r, RelaySide side, bool *ret_ended);

/* Ends every watch, closes every descriptor, frees what is left over. Allowed at any time after
 * relay_init(), and twice. */
void relay_done(Relay *r);
