/* SPDX-License-Identifier: MIT */
#pragma once

/* The supervisor's protocol, on its socket $XDG_RUNTIME_DIR/claude-profile/<profile>.sock. A line is a JSON object:
 *
 *   {"request":"hold","id":"<launch id>","directory":"<where>"}   from a launcher: this connection stands for the launch
 *   {"request":"done","status":<exit status>}                     …which has ended in good order
 *   {"request":"start-gpg-agent"}                                 from launcher or bridge
 *
 * The answer to all but "done" is {"ok":true} or {"ok":false}. Clients are other processes of this user. */

#include "basic/macro.h"
#include "shared/launch-dir.h"

#define REQUEST_MAX (32 * KIB) /* bytes of a line: a path of 4,096 bytes, each of which may be escaped */

typedef enum RequestKind {
        REQUEST_HOLD,
        REQUEST_DONE,
        REQUEST_START_GPG_AGENT,
        _REQUEST_KIND_MAX,
} RequestKind;

typedef struct Request {
        RequestKind kind;
        char id[LAUNCH_ID_LENGTH + 1]; /* REQUEST_HOLD */
        char *directory;               /* REQUEST_HOLD */
        int status;                    /* REQUEST_DONE: 0 to 255 */
} Request;

/* Parses a line of `n` bytes without its newline. Returns 0, -EBADMSG or -ENOMEM. */
int request_parse(const char *line, size_t n, Request *ret);
void request_clear(Request *r);
#define _cleanup_request_ _cleanup_(request_clear)
