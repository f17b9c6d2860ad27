/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Connects to a stream socket of the file system without waiting. Returns a non-blocking descriptor or
 * negative errno; -EAGAIN when the other side's queue is full, of which the kernel never says when it ends.
 */
int unix_connect(const char *path);
