/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/str.h"
#include "generator/unit-text.h"

static int append(UnitText *u, const char *s, size_t n) {
        int r;

        r = grow(&u->text, &u->allocated, u->n + n + 1, 1);
        if (r < 0)
                return r;

        *(char *) mempcpy(u->text + u->n, s, n) = '\0';
        u->n += n;
        return 0;
}

static int append_strings(UnitText *u, const char *a, const char *b, const char *c) {
        int r;

        r = append(u, a, strlen(a));
        if (r >= 0)
                r = append(u, b, strlen(b));
        if (r >= 0)
                r = append(u, c, strlen(c));
        return r;
}

int unit_text_comment(UnitText *u, const char *line) {
        return append_strings(u, "# ", line, "\n");
}

int unit_text_section(UnitText *u, const char *name) {
        return append_strings(u, "\n[", name, "]\n");
}

static bool value_is_expressible(const char *value) {
        const size_t n = strlen(value);

        for (const char *p = value; *p; p++)
                if ((unsigned char) *p < ' ' || *p == 0x7f)
                        return false;

        return utf8_is_valid(value, n) && (n == 0 || (value[0] != ' ' && value[n - 1] != ' ' && value[n - 1] != '\\'));
}

int unit_text_set_plain(UnitText *u, const char *key, const char *value) {
        int r;

        if (!value_is_expressible(value))
                return -EINVAL;

        r = append_strings(u, key, "=", value);
        return r < 0 ? r : append(u, "\n", 1);
}

int unit_text_set(UnitText *u, const char *key, const char *value) {
        _cleanup_free_ char *doubled = NULL;
        char *q;

        doubled = q = new0(char, 2 * strlen(value) + 1);
        if (!doubled)
                return -ENOMEM;

        for (; *value; value++) {
                if (*value == '%')
                        *q++ = '%';
                *q++ = *value;
        }

        return unit_text_set_plain(u, key, doubled);
}

void unit_text_clear(UnitText *u) {
        free(u->text);
        *u = (UnitText) { 0 };
}
