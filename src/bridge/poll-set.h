/* SPDX-License-Identifier: MIT */
#pragma once

/* The event loop. sd-event asks the kernel for everything that is ready before each single callback: with
 * thousands of connections that all have something to say, each of them costs as much as there are
 * connections. And below another epoll each event costs two system calls and wakes two levels up. So the
 * descriptors of connections that are open are in an epoll of their own, which hands out a few at a time;
 * sd-event, for all that is rare, is one more descriptor in it, and gets a few callbacks for each batch. */

#include <systemd/sd-event.h>

#include "basic/macro.h"

typedef struct PollSet PollSet;

/* A descriptor that is or can be watched; lies where its user wants it to. */
typedef struct PollEntry {
        /* Returns whether anything of sd-event's may have changed: a source made, armed, freed, or an exit
         * asked for. Nearly always nothing has: bytes were passed on. */
        bool (*handler)(void *userdata, int fd, uint32_t revents);
        void *userdata;
        int fd;
        bool watched;
} PollEntry;

/* Returns 0 or negative errno. */
int poll_set_new(sd_event *event, PollSet **ret);
PollSet *poll_set_free(PollSet *s);
DEFINE_CLEANUP(PollSet *, poll_set_free);
#define _cleanup_poll_set_ _cleanup_(poll_set_freep)

/* Watches the entry's descriptor for `events`, as epoll takes them; 0: no longer, which must come before it
 * is closed or the entry freed. What was ready before is forgotten. Allowed in handlers, for any entry.
 * Returns 0 or negative errno. */
int poll_set_watch(PollSet *s, PollEntry *e, uint32_t events);

/* Waits so many milliseconds (-1: for ever) for something to be ready, and handles a batch of it. Returns 0
 * or negative errno. */
int poll_set_turn(PollSet *s, int timeout);

/* Turns until sd_event_exit(). Returns its code, or negative errno. */
int poll_set_run(PollSet *s);
