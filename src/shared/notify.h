/* SPDX-License-Identifier: MIT */
#pragma once

/* What systemd shows of us. Sent without ever waiting, like journal entries: a manager that is stopped, or
 * busy with a reload, must not hold up what guests have open, and with sd_notify(3) it does as soon as its
 * queue is full (net.unix.max_dgram_qlen, 10 unless somebody raised it). */

#include "basic/macro.h"

/* Sends lines of "NAME=value" to $NOTIFY_SOCKET, a path or, after "@", an abstract name. Returns 1 when sent, 0
 * when nobody wants to know, or negative errno: -EAGAIN when the manager does not read at present. */
int notify_send(const char *text);
int notify_sendf(const char *format, ...) _printf_(1, 2);

/* READY=1, which must not be lost: waits. As sd_notify(3), but by sendto(2): sendmsg(2) the bridge has given up by then. */
int notify_ready(void);
