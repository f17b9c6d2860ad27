/* SPDX-License-Identifier: MIT */
#pragma once

/* The descriptors of connections that are open. sd-event asks the kernel for everything that is ready before
 * each single callback: with thousands of connections that all have something to say, each of them costs as
 * much as there are connections. So these have an epoll of their own, which the event loop sees as one
 * descriptor, and which hands out a few at a time. */

#include <systemd/sd-event.h>

#include "basic/macro.h"

typedef struct PollSet PollSet;

/* A descriptor that is or can be watched; lies where its user wants it to. */
typedef struct PollEntry {
        void (*handler)(void *userdata, int fd, uint32_t revents);
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
