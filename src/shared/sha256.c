/* SPDX-License-Identifier: MIT */

#include <endian.h>
#include <string.h>

#include "shared/sha256.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[SHA256_BLOCK] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate(uint32_t x, unsigned n) {
        return x >> n | x << (32 - n);
}

static void add_block(Sha256 *h, const uint8_t *block) {
        uint32_t w[SHA256_BLOCK], s[8];

        for (unsigned i = 0; i < 16; i++) {
                memcpy(&w[i], block + 4 * i, 4);
                w[i] = be32toh(w[i]);
        }
        for (unsigned i = 16; i < SHA256_BLOCK; i++) {
                uint32_t a = w[i - 15], b = w[i - 2];

                w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
                       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
        }

        /* s[0] to s[7] are the standard's a to h. */
        memcpy(s, h->state, sizeof(s));
        for (unsigned i = 0; i < SHA256_BLOCK; i++) {
                uint32_t t1, t2;

                t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                     ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];
                t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
                     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

                memmove(s + 1, s, 7 * sizeof(s[0]));
                s[4] += t1;
                s[0] = t1 + t2;
        }
        for (unsigned i = 0; i < 8; i++)
                h->state[i] += s[i];
}

void sha256_begin(Sha256 *h) {
        /* Likewise of the square roots of the first 8 primes. */
        *h = (Sha256) {
                .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                        0x5be0cd19 },
        };
}

void sha256_add(Sha256 *h, const void *data, size_t n) {
        const uint8_t *p = data;

        while (n > 0) {
                size_t at = h->n % SHA256_BLOCK, k = MIN(n, SHA256_BLOCK - at);

                memcpy(h->block + at, p, k);
                h->n += k;
                p += k;
                n -= k;
                if (h->n % SHA256_BLOCK == 0)
                        add_block(h, h->block);
        }
}

void sha256_finish(Sha256 *h, uint8_t ret[SHA256_SIZE]) {
        static const uint8_t padding[SHA256_BLOCK] = { 0x80 };
        uint64_t bits = htobe64(h->n * 8);

        /* So that the length fills a block. */
        sha256_add(h, padding, 1 + (SHA256_BLOCK + 55 - h->n % SHA256_BLOCK) % SHA256_BLOCK);
        sha256_add(h, &bits, sizeof(bits));

        for (unsigned i = 0; i < 8; i++) {
                uint32_t word = htobe32(h->state[i]);

                memcpy(ret + 4 * i, &word, 4);
        }
}
