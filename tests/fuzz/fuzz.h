/* SPDX-License-Identifier: MIT */
#pragma once

/* A fuzz target is a file fuzz-<name>.c with this one function. It is linked twice: with libFuzzer, which looks for
 * inputs (see ./run), and with replay.c, which gives it each file of corpus/<name>/, in `meson test`.
 *
 * It asserts what must hold whatever comes in, not only that nothing crashes. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "basic/macro.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert(), but never compiled out. */
#define PROPERTY(x)                                                                                           \
        do {                                                                                                  \
                if (!(x)) {                                                                                   \
                        (void) fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #x);        \
                        abort();                                                                              \
                }                                                                                             \
        } while (false)
