/* SPDX-License-Identifier: MIT */
#pragma once

/* Which sockets of the guest lead to which service of the bridge. */

#include "basic/macro.h"
#include "basic/wire.h"

#define FORWARDS_MAX 16

typedef struct Forward {
        char *path; /* the guest's socket */
        ServiceId service;
} Forward;

typedef struct ForwardList {
        Forward items[FORWARDS_MAX];
        size_t n;
} ForwardList;

/* Parses "guest path=service,…" (NULL: none). Paths are absolute, normalized and short enough for a socket
 * address; no path may come twice. Returns 0, -ENOMEM, or -EBADMSG. The caller frees the list, on failure
 * too. */
int forward_list_parse(const char *text, ForwardList *list);

void forward_list_done(ForwardList *list);
#define _cleanup_forward_list_ _cleanup_(forward_list_done)

/* The first forward to a service of that kind, or NULL. */
const Forward *forward_list_find(const ForwardList *list, ServiceKind kind);
