/* SPDX-License-Identifier: MIT */
#pragma once

/* Has the supervisor start the gpg-agent: the bridge has no bus and must not start anything itself. One
 * fixed request, one answer, one at a time whoever asks. */

#include <systemd/sd-event.h>

#include "basic/macro.h"

typedef struct Starter Starter;
typedef void (*StarterDone)(void *userdata, bool ok);

/* `path` is the supervisor's socket, which need not exist. Returns 0 or negative errno. */
int starter_new(sd_event *event, const char *path, StarterDone done, void *userdata, Starter **ret);
Starter *starter_free(Starter *s);
DEFINE_CLEANUP(Starter *, starter_free);
#define _cleanup_starter_ _cleanup_(starter_freep)

/* Asks, unless that is under way: `done` is called later, once for everybody. Negative errno: it cannot be
 * asked, or has just failed, and `done` is not called. */
int starter_request(Starter *s);
