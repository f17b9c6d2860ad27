/* SPDX-License-Identifier: MIT */
#pragma once

/* The event loop: epoll, and for each descriptor a source that says who is called. */

#include <sys/epoll.h>

#include "basic/macro.h"

#define EVENTS_BATCH 64

typedef struct EventSource EventSource;

struct EventSource {
        int fd;
        uint32_t mask; /* what epoll was last told; 0: not in the poll set */
        int (*dispatch)(EventSource *s, uint32_t revents); /* a negative return ends the loop */
        void *userdata;
};

typedef struct Events {
        int fd;
        struct epoll_event batch[EVENTS_BATCH];
        int n_batch;
} Events;

/* Returns 0 or negative errno. */
int events_init(Events *e);

/* Waits for `mask` on the source's descriptor from now on; 0 takes it out, and nothing more of it is
 * dispatched, even if it is already reported: the source may be freed. Returns 0 or negative errno. */
int events_watch(Events *e, EventSource *s, uint32_t mask);

/* Waits at most `timeout_msec` (-1: for ever), and dispatches what has come. Returns 0 or negative errno,
 * the first that a source returned. */
int events_run(Events *e, int timeout_msec);

void events_done(Events *e);
