/* SPDX-License-Identifier: MIT */
#pragma once

/* SHA-256 (FIPS 180-4), for the fingerprints of public keys: nothing here is secret. Our own, because the
 * kernel's AF_ALG is not everywhere, costs a socket for each sum, and is an address family that the bridge's
 * sandbox forbids; and a library for these sixty lines would be one more to trust. */

#include "basic/macro.h"

#define SHA256_SIZE 32
#define SHA256_BLOCK 64

typedef struct Sha256 {
        uint32_t state[8];
        uint64_t n; /* bytes added so far */
        uint8_t block[SHA256_BLOCK];
} Sha256;

void sha256_begin(Sha256 *h);
void sha256_add(Sha256 *h, const void *data, size_t n);

/* Call it once. */
void sha256_finish(Sha256 *h, uint8_t ret[SHA256_SIZE]);
