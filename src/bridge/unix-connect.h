/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Connects to a stream socket of the file system without waiting. Returns a non-blocking descriptor or
 * negative errno; -EAGAIN when the other side's queue is full, and the kernel never says when it has room.
 */
int unix_connect(const char *path);
