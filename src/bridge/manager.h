/* SPDX-License-Identifier: MIT */
#pragma once

/* The bridge of one launch: its listening socket, its clients, and what they share. */

#include <systemd/sd-event.h>

#include "basic/relay.h"
#include "bridge/leave.h"
#include "bridge/linger.h"
#include "bridge/poll-set.h"
#include "bridge/report.h"
#include "bridge/starter.h"
#include "shared/manifest.h"
#include "shared/ssh-wire.h"

#define RELAYS_MAX 4096                    /* connections that have been let in */
#define WAITING_MAX 64                     /* connections whose first line is not complete */
#define WAITING_USEC (250 * USEC_PER_MSEC) /* so long each may stay even when all these places are taken */

#define STALLED_MAX 256      /* relays with bytes that nobody takes; of more, the longest stalled one ends */
#define DEFER_SECONDS 1      /* so long a connection without a byte stays in the kernel */

/* For each relay two sockets, and what else there is: pipes, places before the handshake and after the end,
 * and a handful. */
#define DESCRIPTORS_MAX (2 * RELAYS_MAX + 2 * PIPE_POOL_MAX + 2 * WAITING_MAX + LINGER_MAX + 64)

typedef struct Client Client;

typedef struct Manager {
        sd_event *event;
        PollSet *ready; /* the loop: of the connections that are open, whoever has something to say, and sd-event */
        const Manifest *manifest;
        ServiceId enabled[WIRE_SERVICES_MAX];
        PeerCheck *peers;
        RelayShared *relays;
        Report *report;
        Leave *leave; /* to sign */
        Linger *linger;
        char *supervisor_path; /* of its socket */
        Starter *starter;

        int listen_fd;
        sd_event_source *accept_source;
        sd_event_source *resume_timer; /* armed while accepting waits */

        Client *waiting; /* the oldest first */
        size_t n_waiting;
        sd_event_source *deadline_timer;
        Client *open;
        size_t n_open;
        size_t n_stalled;
        size_t n_questions;
        size_t n_busy[_SERVICE_KIND_MAX]; /* connections that have something of the host's of which there is little */
        char line[WIRE_LINE_MAX]; /* what is being read; a client keeps a copy of an incomplete one */
        uint8_t scratch[SSH_AGENT_FRAME_MAX]; /* likewise, for services */
} Manager;

typedef struct ManagerFds {
        int listen;
        int diag;
} ManagerFds;

/* Owns the descriptors from entry on. `manifest` must outlive the manager. Says itself why it fails; returns
 * 0 or negative errno. */
int manager_new(const Manifest *manifest, ManagerFds fds, Manager **ret);
Manager *manager_free(Manager *m);
DEFINE_CLEANUP(Manager *, manager_free);
#define _cleanup_manager_ _cleanup_(manager_freep)

/* Serves until it is told to stop by SIGTERM. */
int manager_run(Manager *m);

/* The lists, for client.c. Among those that wait, `since` says where a client belongs, and when there are
 * too many the oldest is ended: it may be this one. */
void manager_add_waiting(Manager *m, Client *c);
void manager_add_open(Manager *m, Client *c);
void manager_remove(Manager *m, Client *c);

/* Notes whether the client's service holds bytes that one of its ends does not take at present. When there
 * are too many such, the longest stalled one is ended: it may be this one. Returns whether one was. */
bool manager_note_stalled(Manager *m, Client *c, bool stalled);
