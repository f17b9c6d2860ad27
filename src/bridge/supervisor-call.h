/* SPDX-License-Identifier: MIT */
#pragma once

/* One request to the supervisor, on a connection of its own: a line there and a line back, and with that
 * perhaps a descriptor. The bridge has no bus and starts nothing itself. */

#include <systemd/sd-event.h>

#include "basic/macro.h"
#include "basic/wire.h"

typedef struct SupervisorCall SupervisorCall;

typedef struct SupervisorAnswer {
        bool ok;
        char reason[WIRE_REASON_MAX]; /* why not, a few words; "": not said */
        int fd;                       /* -EBADF: none; whoever wants it takes it out */
} SupervisorAnswer;

/* Called once, from the event loop: no answer in time, or none that is one, is an answer that is not ok. It
 * may free the call. */
typedef void (*SupervisorCallDone)(void *userdata, SupervisorAnswer *answer);

/* Sends `request`, a line with its newline. `path` is the supervisor's socket, which need not exist. Returns
 * 0 or negative errno, and then `done` is not called. */
int supervisor_call_new(sd_event *event, const char *path, const char *request, uint64_t timeout_usec,
                SupervisorCallDone done, void *userdata, SupervisorCall **ret);
SupervisorCall *supervisor_call_free(SupervisorCall *c);
DEFINE_CLEANUP(SupervisorCall *, supervisor_call_free);
#define _cleanup_supervisor_call_ _cleanup_(supervisor_call_freep)

/* Reads a line of `n` bytes, its newline included. Returns whether it is an answer; `ret->fd` is not
 * touched. Pure. */
bool supervisor_answer_parse(const char *line, size_t n, SupervisorAnswer *ret);
