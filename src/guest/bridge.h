/* SPDX-License-Identifier: MIT */
#pragma once

/* The way to the bridge: where it listens, and the line that opens a connection to it. */

#include <netinet/in.h>

#include "basic/macro.h"
#include "basic/wire.h"

typedef struct Bridge {
        struct sockaddr_in address;
        char token[WIRE_TOKEN_LENGTH + 1];
} Bridge;

/* Parses the text of the launch's file `bridge`: every key once, nothing else. Returns 0 or -EBADMSG. */
int bridge_parse(const char *text, size_t n, Bridge *ret);

/* Reads GUEST_BRIDGE_FILE. Returns 0 or negative errno; -ENOENT: there is no bridge. */
int bridge_load(Bridge *ret);

/* Prints the handshake into `buf` (WIRE_LINE_MAX bytes). Returns its length. */
size_t bridge_format_handshake(const Bridge *b, const char *service, char *buf);

/* Begins to connect, without waiting: the descriptor is writable once it is connected or has failed, and the
 * first send() tells which. Returns a non-blocking descriptor or negative errno. */
int bridge_connect(const Bridge *b);
