/* SPDX-License-Identifier: MIT */
#pragma once

/* Public keys as an agent names them, and which of them a sandbox may use. */

#include "shared/ssh-wire.h"

#define SSH_FINGERPRINT_SIZE (STRLEN("SHA256:") + 43 + 1) /* 32 bytes in base64, and a NUL */

/* Prints into `ret` what ssh-add -l prints: "SHA256:…". A certificate has the fingerprint of its key. */
void ssh_key_fingerprint(SshBytes key, char ret[SSH_FINGERPRINT_SIZE]);

/* Bytes in all of a list, commas included: it must fit into a manifest, however it is escaped there. */
#define SSH_SELECTORS_MAX (8 * KIB)

/* Whether `s` could be one of a list that selects keys: a whole fingerprint, as ssh-add -l prints it, or a
 * pattern for comments as in glob(7), where * also matches a slash. */
bool ssh_selector_is_valid(const char *s);

/* Whether the list `selectors` (NULL: all keys) selects a key with this fingerprint or comment. Without a
 * comment, of a key that no agent has listed, patterns do not match. */
bool ssh_key_is_selected(char *const *selectors, const char *fingerprint, const SshBytes *comment);
