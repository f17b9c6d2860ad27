/* SPDX-License-Identifier: MIT */
#pragma once

/* One direction of native messaging (a 4-byte little-endian length, then so many bytes of JSON), as a pure
 * function of pieces: it follows the frames, however they are cut, and lets them through as they are. A
 * frame goes through as it comes, not when it is complete: only its header is held back until it is known to
 * be good, and, when answers to keepalives are to be taken out, a frame small enough to be one.
 *
 * Answers are taken out whether or not we asked: a native host sends each to all of its clients, so a guest
 * would otherwise see what is meant for another bridge. */

#include "basic/macro.h"

#define NATIVE_FRAME_MAX (64 * MIB) /* bytes of the JSON text */
#define NATIVE_HEADER_SIZE 4
#define NATIVE_ANSWER_MAX 1024      /* of an answer to a keepalive */
#define NATIVE_HELD_MAX (NATIVE_HEADER_SIZE + NATIVE_ANSWER_MAX)

/* The method of the keepalive, which nobody knows; the answer that it is not known names it. */
#define NATIVE_KEEPALIVE "claude_profile_keepalive"

typedef struct NativeFilter {
        bool takes_answers; /* drops each small frame that names the keepalive */
        uint32_t left;      /* bytes to come of the frame that goes through */
        size_t n_held;
        unsigned char held[NATIVE_HELD_MAX];
} NativeFilter;

/* Passes `n` bytes on to `out`, which has room for NATIVE_HELD_MAX more; `*ret_n` is how many it wrote there.
 * Returns 0, or -EBADMSG for a length of 0 or over NATIVE_FRAME_MAX: only what came before that is written,
 * and there is no way on. */
int native_filter_pass(NativeFilter *f, const char *p, size_t n, char *out, size_t *ret_n);

/* Whether the last frame is complete, so that another one may be put behind it. */
bool native_filter_is_between(const NativeFilter *f);

/* The keepalive, a whole frame, in `buf` (NATIVE_HELD_MAX bytes). Returns its length. */
size_t native_keepalive(char *buf);
