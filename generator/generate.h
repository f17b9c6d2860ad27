/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>

/* Makes the units of all sandboxed profiles in the directory `output`, says what is wrong with which, and counts in `done` how far it is.
 * Returns 0, or negative errno when something could not be written, having said why. */
int generate(const char *output, atomic_uint *done);
