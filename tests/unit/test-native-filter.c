/* SPDX-License-Identifier: MIT */

/* Frames of native messaging, cut anyhow: case N01 and its kind. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "bridge/native-filter.h"

#define SIZE (4 * MIB)

typedef struct Stream {
        char *p;
        size_t n;
} Stream;

static Stream stream_new(void) {
        Stream s = { .p = malloc(SIZE) };

        assert_non_null(s.p);
        return s;
}

static void stream_add(Stream *s, const void *p, size_t n) {
        assert_true(s->n + n <= SIZE);
        memcpy(s->p + s->n, p, n);
        s->n += n;
}

static void stream_header(Stream *s, size_t length) {
        const unsigned char header[4] = { (unsigned char) length, (unsigned char) (length >> 8),
                (unsigned char) (length >> 16), (unsigned char) (length >> 24) };

        stream_add(s, header, sizeof(header));
}

static void stream_frame(Stream *s, const char *text) {
        stream_header(s, strlen(text));
        stream_add(s, text, strlen(text));
}

/* A frame of `n` bytes that all differ from their neighbours. */
static void stream_big(Stream *s, size_t n) {
        stream_header(s, n);
        assert_true(s->n + n <= SIZE);
        for (size_t i = 0; i < n; i++)
                s->p[s->n++] = (char) (i * 31 + i / 256);
}

/* All of `in` through the filter, in pieces of `step`. Every buffer is of exactly the size that is promised. */
static int pass(NativeFilter *f, const Stream *in, size_t step, Stream *out) {
        for (size_t i = 0; i < in->n; i += step) {
                size_t n = MIN(step, in->n - i), k;
                _cleanup_free_ char *piece = malloc(n), *buf = malloc(n + NATIVE_HELD_MAX);
                int r;

                assert_true(piece && buf);
                memcpy(piece, in->p + i, n);
                r = native_filter_pass(f, piece, n, buf, &k);
                assert_true(k <= n + NATIVE_HELD_MAX);
                stream_add(out, buf, k);
                if (r < 0)
                        return r;
        }

        return 0;
}

static void expect(const Stream *in, const Stream *expected, bool takes_answers, bool between) {
        static const size_t steps[] = { 1, 2, 3, 4, 5, 6, 7, 13, 1027, 1028, 1029, 4096, 16384, SIZE };

        for (size_t i = 0; i < ELEMENTSOF(steps); i++) {
                NativeFilter f = { .takes_answers = takes_answers };
                Stream out = stream_new();

                assert_int_equal(pass(&f, in, steps[i], &out), 0);
                assert_int_equal(out.n, expected->n);
                assert_memory_equal(out.p, expected->p, out.n);
                assert_int_equal(native_filter_is_between(&f), between);
                free(out.p);
        }
}

static void test_whole_frames_are_unchanged(void **state) {
        Stream in = stream_new();

        expect(&in, &in, true, true);
        stream_frame(&in, "{}");
        stream_frame(&in, "{}");
        stream_frame(&in, "{\"method\":\"execute_tool\"}");
        stream_big(&in, 1023);
        stream_big(&in, 1024);
        stream_big(&in, 1025);
        stream_big(&in, 65536);
        stream_big(&in, 1048576);
        stream_frame(&in, "x");
        expect(&in, &in, false, true);
        expect(&in, &in, true, true);
        free(in.p);
}

/* What is cut by the end: of a header nothing has gone through, of a body what there was. */
static void test_cut(void **state) {
        for (size_t n = 1; n < 4; n++) {
                Stream in = stream_new(), expected = stream_new();

                stream_frame(&in, "{}");
                stream_frame(&expected, "{}");
                stream_add(&in, "\2\0\0", n);
                expect(&in, &expected, false, false);
                expect(&in, &expected, true, false);
                free(in.p);
                free(expected.p);
        }
        for (size_t n = 0; n < 5000; n += 999) {
                Stream in = stream_new();

                stream_big(&in, 5000);
                in.n = 4 + n;
                expect(&in, &in, false, false);
                expect(&in, &in, true, false);
                free(in.p);
        }
}

static void test_bad_lengths(void **state) {
        static const struct {
                uint32_t length;
                bool good;
        } rows[] = {
                { 0, false },
                { 1, true },
                { NATIVE_FRAME_MAX, true },
                { NATIVE_FRAME_MAX + 1, false },
                { 0x7fffffff, false },
                { 0x80000000, false },
                { 0xffffffff, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                for (size_t step = 1; step < 8; step++)
                        for (int takes = 0; takes < 2; takes++) {
                                NativeFilter f = { .takes_answers = takes };
                                Stream in = stream_new(), out = stream_new();

                                stream_frame(&in, "{}");
                                stream_header(&in, rows[i].length);
                                assert_int_equal(pass(&f, &in, step, &out), rows[i].good ? 0 : -EBADMSG);
                                /* The good one before it has gone through, of the bad one nothing. */
                                assert_true(out.n == 6 || (rows[i].good && out.n == 10));
                                assert_memory_equal(out.p, in.p, out.n);
                                free(in.p);
                                free(out.p);
                        }
}

static void test_answers_are_taken_out(void **state) {
        static const char answer[] = "{\"error\":{\"content\":\"Unknown method: " NATIVE_KEEPALIVE "\"}}";
        char long_answer[NATIVE_ANSWER_MAX + 2];
        Stream in = stream_new(), expected = stream_new();

        memset(long_answer, ' ', sizeof(long_answer));
        memcpy(long_answer, answer, sizeof(answer) - 1);

        stream_frame(&in, answer);
        stream_frame(&in, "{\"result\":1}");
        stream_frame(&expected, "{\"result\":1}");
        stream_frame(&in, answer);
        stream_frame(&in, answer);
        stream_big(&in, 100000);
        stream_big(&expected, 100000);
        stream_frame(&in, "{\"error\":\"claude_profile_keepaliv\"}");
        stream_frame(&expected, "{\"error\":\"claude_profile_keepaliv\"}");
        long_answer[NATIVE_ANSWER_MAX] = '\0';
        stream_frame(&in, long_answer);
        /* One byte longer it goes through. */
        long_answer[NATIVE_ANSWER_MAX] = ' ';
        long_answer[NATIVE_ANSWER_MAX + 1] = '\0';
        stream_frame(&in, long_answer);
        stream_frame(&expected, long_answer);

        expect(&in, &expected, true, true);
        expect(&in, &in, false, true); /* nothing of the guest's is ever taken out */
        free(in.p);
        free(expected.p);
}

static void test_keepalive(void **state) {
        NativeFilter f = { .takes_answers = true };
        char frame[NATIVE_HELD_MAX], out[2 * NATIVE_HELD_MAX];
        size_t n, k;

        n = native_keepalive(frame);
        assert_true(n > NATIVE_HEADER_SIZE && n < 100);
        assert_memory_equal(frame + NATIVE_HEADER_SIZE, "{\"method\":\"claude_profile_keepalive\"", 36);
        assert_int_equal(native_filter_pass(&f, frame, n, out, &k), 0);
        assert_int_equal(k, 0);
        assert_true(native_filter_is_between(&f));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_whole_frames_are_unchanged),
                cmocka_unit_test(test_cut),
                cmocka_unit_test(test_bad_lengths),
                cmocka_unit_test(test_answers_are_taken_out),
                cmocka_unit_test(test_keepalive),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
