/* SPDX-License-Identifier: MIT */
#pragma once

/* The text of a unit file, built so that the manager reads back exactly what was put in: no value makes another line, continues one, or
 * is a specifier. Pure. */

#include "basic/macro.h"

/* Zero-initialize. */
typedef struct UnitText {
        char *text; /* NULL: nothing yet */
        size_t n, allocated;
} UnitText;

/* Each adds at the end and returns 0 or -ENOMEM. */
int unit_text_comment(UnitText *u, const char *line);
int unit_text_section(UnitText *u, const char *name);

/* Key=value, for a setting in which the manager expands specifiers, as it does in most, or (plain) for one in which it does not. -EINVAL for a value that no unit file can hold: one with control characters or bytes that are no UTF-8 text, with blanks at
 * an end, or with a backslash as its last character. */
int unit_text_set(UnitText *u, const char *key, const char *value);
int unit_text_set_plain(UnitText *u, const char *key, const char *value);

void unit_text_clear(UnitText *u);
#define _cleanup_unit_text_ _cleanup_(unit_text_clear)
