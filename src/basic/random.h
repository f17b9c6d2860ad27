/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Fills `buf` from getrandom(2), the kernel's own generator. Returns 0 or negative errno. */
int random_bytes(void *buf, size_t n);
