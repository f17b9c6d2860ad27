/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Connects to the newest live socket of claude's native-messaging hosts in `directory`. Each browser that
 * runs has one there, and dead ones stay behind. The directory must be a real one, this user's, and nobody
 * else's to enter; so must whoever answers be this user. Returns a non-blocking descriptor, -EPERM when the
 * directory is not so, -ENOENT when nobody answers, or another negative errno. */
int native_host_connect(const char *directory);
