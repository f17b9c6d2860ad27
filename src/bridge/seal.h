/* SPDX-License-Identifier: MIT */
#pragma once

/* Forbids this process, for good, what the list of system calls in the bridge's unit cannot: that names calls,
 * and these are needed for ourselves, and with another argument reach every process of the user:
 *
 *   prlimit64      of another process (setrlimit(2) is this call): no more processor time, and it is killed
 *   fcntl          F_SETOWN, F_SETOWN_EX, F_SETSIG: any signal, SIGKILL and SIGSTOP among them, to any process
 *   sched_setattr  of another process: it gets no turn where anybody else wants one
 *
 * A guest that has got hold of the bridge could end the supervisor with them, or stop it, which keeps the guards.
 * And the sockets of its port and its connections are of the host's network, which it has no other way to:
 *
 *   sendto         MSG_FASTOPEN: connects a socket that was disconnected, past Landlock
 *   sendmsg        likewise, and hands sockets over to others, who are not sealed; sendmmsg, too
 *   bind, listen   a port of its choice
 *
 * connect(2) with an address of TCP, which looks no different from here, is for Landlock (seal-files.h).
 *
 * They fail with EPERM then. Only where a filter of system calls is in force already, as in the unit: where all
 * other calls are allowed nothing is won. Returns 1 when sealed, 0 when there is no such filter, or negative
 * errno. */
int seal(void);
