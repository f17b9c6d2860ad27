/* SPDX-License-Identifier: MIT */
#pragma once

/* The supervisor's protocol, on its socket $XDG_RUNTIME_DIR/claude-profile/<profile>.sock. A line is a JSON object:
 *
 *   {"request":"hold","id":"<launch id>","directory":"<where>"}   from a launcher: this connection stands for the launch
 *   {"request":"guard"}                                           …whose guards are to be kept in place from now on
 *   {"request":"done","status":<exit status>}                     …which has ended in good order
 *   {"request":"start-gpg-agent"}                                 from launcher or bridge
 *   {"request":"open","id":"<launch id>","url":"…"}               from a bridge: open a page in the host's browser
 *   {"request":"paste","id":"<launch id>","arguments":"…"}        from a bridge: read the host's clipboard (shared/paste.h)
 *
 * The answer to all but "done" is {"ok":true} or {"ok":false}; to "paste" it is {"ok":true} together with a file in memory, or
 * {"ok":false,"reason":"a few words"}, which is also what a launcher that has asked for "guard" is told, before or after an {"ok":true},
 * when its sandbox is ended because a guard cannot be kept. Clients are other processes of this user; a bridge may be in a guest's hands. */

#include "basic/macro.h"
#include "shared/launch-dir.h"

#define REQUEST_MAX (32 * KIB) /* bytes of a line: a path of 4,096 bytes, each of which may be escaped */

typedef enum RequestKind {
        REQUEST_HOLD,
        REQUEST_GUARD,
        REQUEST_DONE,
        REQUEST_START_GPG_AGENT,
        REQUEST_OPEN,
        REQUEST_PASTE,
        _REQUEST_KIND_MAX,
} RequestKind;

typedef struct Request {
        RequestKind kind;
        char id[LAUNCH_ID_LENGTH + 1]; /* REQUEST_HOLD, REQUEST_OPEN, REQUEST_PASTE */
        char *directory;               /* REQUEST_HOLD */
        char *text;                    /* REQUEST_OPEN: a URL, REQUEST_PASTE: arguments; foreign text */
        int status;                    /* REQUEST_DONE: 0 to 255 */
} Request;

/* Parses a line of `n` bytes without its newline. Returns 0, -EBADMSG or -ENOMEM. */
int request_parse(const char *line, size_t n, Request *ret);
void request_clear(Request *r);
#define _cleanup_request_ _cleanup_(request_clear)
