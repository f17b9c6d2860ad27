/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* The one of `names` that `word` was most likely meant to be: it begins with the word, or takes at most two
 * changes of a letter (one in a short word, none in a single letter). NULL: none is near. */
const char *near_name(char *const *names, const char *word);
