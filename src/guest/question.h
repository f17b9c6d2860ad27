/* SPDX-License-Identifier: MIT */
#pragma once

/* A question to one of the bridge's services that answer with a line: see basic/wire.h. */

#include "basic/macro.h"
#include "basic/wire.h"

#define QUESTION_ANSWER_MAX 256

typedef struct Question {
        int fd;
        char answer[QUESTION_ANSWER_MAX]; /* the line without its newline */
        char rest[QUESTION_ANSWER_MAX];   /* what came behind it */
        size_t n_rest;
} Question;

/* Asks, and waits for the line. `text` is the question without a newline. Returns 0 or negative errno: there
 * is no bridge, it does not have the service, or it does not answer. */
int question_ask(const char *service, const char *text, Question *ret);

/* Writes the `n` bytes that come behind the line to `out`. Returns 0 or negative errno: -EBADMSG when there
 * are fewer or more. */
int question_copy(Question *q, size_t n, int out);

void question_done(Question *q);
#define _cleanup_question_ _cleanup_(question_done)
