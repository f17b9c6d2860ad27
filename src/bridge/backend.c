/* SPDX-License-Identifier: MIT */

#include "basic/clock.h"
#include "bridge/backend.h"
#include "bridge/buffers.h"
#include "bridge/unix-connect.h"

#define RETRY_FIRST_USEC (5 * USEC_PER_MSEC)
#define RETRY_LAST_USEC (1 * USEC_PER_SEC) /* doubling from the first: 1.3 s in all */

static int on_retry(sd_event_source *s, uint64_t usec, void *userdata) {
        Backend *b = userdata;

        b->retry_timer = sd_event_source_disable_unref(b->retry_timer);
        backend_connect(b);
        return 0;
}

/* It is alive but does not accept: its queue is full. */
static void backend_retry(Backend *b) {
        int r;

        b->retry_usec = b->retry_usec == 0 ? RETRY_FIRST_USEC : b->retry_usec * 2;
        if (b->retry_usec > RETRY_LAST_USEC) {
                client_end(b->client, OUTCOME_BACKEND_GONE);
                return;
        }

        r = sd_event_add_time_relative(b->client->manager->event, &b->retry_timer, CLOCK_MONOTONIC,
                        b->retry_usec, USEC_PER_MSEC, on_retry, b);
        if (r < 0)
                client_end(b->client, OUTCOME_OUT_OF_RESOURCES);
}

/* Only the gpg-agent is started on demand. */
static bool backend_ask(Backend *b) {
        Client *c = b->client;

        if (c->service->id.kind != SERVICE_GPG || b->asked)
                return false;

        b->asked = true;
        c->asks_supervisor = starter_request(c->manager->starter) >= 0;
        return c->asks_supervisor;
}

void backend_connect(Backend *b) {
        Client *c = b->client;
        Outcome outcome;
        int fd;

        fd = unix_connect(c->service->path);
        if (fd >= 0) {
                buffers_of_backend(fd, c->manager->n_open);
                b->connected(c, fd);
                return;
        }
        if (fd == -EAGAIN) {
                backend_retry(b);
                return;
        }

        outcome = outcome_of_error(fd);
        if (outcome != OUTCOME_BACKEND_GONE || !backend_ask(b))
                client_end(c, outcome);
}

void backend_started(Backend *b, bool ok) {
        if (ok)
                backend_connect(b);
        else
                client_end(b->client, OUTCOME_BACKEND_GONE);
}

void backend_done(Backend *b) {
        b->retry_timer = sd_event_source_disable_unref(b->retry_timer);
}
