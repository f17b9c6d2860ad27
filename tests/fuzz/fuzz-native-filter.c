/* SPDX-License-Identifier: MIT */

/* Frames of native messaging. The first byte says whether answers to keepalives are taken out, the second how the rest is cut.
 * In pieces or at once it comes to the same; what goes in comes out but for whole frames that name the keepalive. */

#include <string.h>

#include "basic/alloc.h"
#include "bridge/native-filter.h"
#include "fuzz.h"

typedef struct Result {
        char *p;
        size_t n;
        int r;
        bool between;
} Result;

static Result pass(const uint8_t *data, size_t size, size_t step, bool takes_answers) {
        NativeFilter f = { .takes_answers = takes_answers };
        Result result = { .p = malloc(size + NATIVE_HELD_MAX) };

        PROPERTY(result.p);
        for (size_t i = 0; i < size && result.r >= 0; i += step) {
                size_t n = MIN(step, size - i), k;
                _cleanup_free_ char *out = malloc(n + NATIVE_HELD_MAX);

                PROPERTY(out);
                result.r = native_filter_pass(&f, (const char *) data + i, n, out, &k);
                PROPERTY(result.r == 0 || result.r == -EBADMSG);
                PROPERTY(k <= n + NATIVE_HELD_MAX && result.n + k <= size);
                memcpy(result.p + result.n, out, k);
                result.n += k;
        }

        result.between = native_filter_is_between(&f);
        return result;
}

/* What the filter should do, told from the whole stream at once. */
static void check(const uint8_t *data, size_t size, bool takes_answers, const Result *result) {
        size_t in = 0, out = 0;

        while (size - in >= NATIVE_HEADER_SIZE) {
                uint32_t length = (uint32_t) data[in] | (uint32_t) data[in + 1] << 8 | (uint32_t) data[in + 2] << 16 |
                                  (uint32_t) data[in + 3] << 24;
                size_t n = NATIVE_HEADER_SIZE + MIN((size_t) length, size - in - NATIVE_HEADER_SIZE);
                bool whole = n == NATIVE_HEADER_SIZE + length;

                if (length == 0 || length > NATIVE_FRAME_MAX) {
                        PROPERTY(result->r == -EBADMSG && result->n == out);
                        return;
                }
                if (takes_answers && length <= NATIVE_ANSWER_MAX &&
                                (!whole || memmem(data + in, n, NATIVE_KEEPALIVE, STRLEN(NATIVE_KEEPALIVE)))) {
                        in += n;
                        continue;
                }

                PROPERTY(result->n >= out + n && memcmp(result->p + out, data + in, n) == 0);
                in += n;
                out += n;
                PROPERTY(whole || in == size);
        }

        PROPERTY(result->r == 0 && result->n == out);
        PROPERTY(in == size || !result->between);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Result once, pieces;
        bool takes_answers;
        size_t step;

        if (size < 3)
                return 0;
        takes_answers = data[0] & 1;
        step = 1 + data[1];
        data += 2;
        size -= 2;

        once = pass(data, size, size, takes_answers);
        pieces = pass(data, size, step, takes_answers);
        check(data, size, takes_answers, &once);
        PROPERTY(once.r == pieces.r && once.n == pieces.n && memcmp(once.p, pieces.p, once.n) == 0);
        PROPERTY(once.r < 0 || once.between == pieces.between);

        free(once.p);
        free(pieces.p);
        return 0;
}
