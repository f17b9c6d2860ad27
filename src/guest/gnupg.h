/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Prepares GUEST_GNUPG_DIR for signing through the forwarded agent: the host's public keys as a keyring of
 * their own, and the options that go with a forwarded agent. `keys` may be NULL. Returns 0 or negative
 * errno. */
int gnupg_prepare(int home_fd, const void *keys, size_t n_keys);
