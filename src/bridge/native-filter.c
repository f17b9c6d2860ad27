/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "bridge/native-filter.h"

#define KEEPALIVE_TEXT "{\"method\":\"" NATIVE_KEEPALIVE "\",\"params\":{}}"

static uint32_t frame_length(const unsigned char *header) {
        return (uint32_t) header[0] | (uint32_t) header[1] << 8 | (uint32_t) header[2] << 16 |
               (uint32_t) header[3] << 24;
}

/* How many bytes are to be held before the frame can be judged. */
static size_t wanted(const NativeFilter *f) {
        uint32_t length;

        if (f->n_held < NATIVE_HEADER_SIZE || !f->takes_answers)
                return NATIVE_HEADER_SIZE;

        length = frame_length(f->held);
        return NATIVE_HEADER_SIZE + (length <= NATIVE_ANSWER_MAX ? length : 0);
}

static bool is_answer(const NativeFilter *f) {
        return f->takes_answers && f->n_held > NATIVE_HEADER_SIZE &&
               memmem(f->held + NATIVE_HEADER_SIZE, f->n_held - NATIVE_HEADER_SIZE, NATIVE_KEEPALIVE,
                               STRLEN(NATIVE_KEEPALIVE));
}

/* What was held is all that is wanted: it goes through, or is dropped. */
static size_t release(NativeFilter *f, char *out) {
        size_t n = is_answer(f) ? 0 : f->n_held;

        memcpy(out, f->held, n);
        f->left = frame_length(f->held) - (uint32_t) (f->n_held - NATIVE_HEADER_SIZE);
        f->n_held = 0;
        return n;
}

int native_filter_pass(NativeFilter *f, const char *p, size_t n, char *out, size_t *ret_n) {
        char *q = out;

        while (n > 0) {
                size_t k;

                if (f->left > 0) {
                        k = MIN(n, (size_t) f->left);
                        memcpy(q, p, k);
                        q += k;
                        f->left -= (uint32_t) k;
                } else {
                        k = MIN(n, wanted(f) - f->n_held);
                        memcpy(f->held + f->n_held, p, k);
                        f->n_held += k;
                }
                p += k;
                n -= k;

                if (f->n_held == NATIVE_HEADER_SIZE &&
                                (frame_length(f->held) == 0 || frame_length(f->held) > NATIVE_FRAME_MAX)) {
                        *ret_n = (size_t) (q - out);
                        return -EBADMSG;
                }
                if (f->n_held >= NATIVE_HEADER_SIZE && f->n_held == wanted(f))
                        q += release(f, q);
        }

        *ret_n = (size_t) (q - out);
        return 0;
}

bool native_filter_is_between(const NativeFilter *f) {
        return f->left == 0 && f->n_held == 0;
}

size_t native_keepalive(char *buf) {
        const uint32_t n = STRLEN(KEEPALIVE_TEXT);

        for (size_t i = 0; i < NATIVE_HEADER_SIZE; i++)
                buf[i] = (char) (n >> (8 * i) & 0xff);
        memcpy(buf + NATIVE_HEADER_SIZE, KEEPALIVE_TEXT, n);
        return NATIVE_HEADER_SIZE + n;
}
