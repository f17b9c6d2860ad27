/* SPDX-License-Identifier: MIT */

/* A unit file's values, and limits as text. The first byte chooses a limit; the rest is a value, and the limit's. */

#include <string.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "fuzz.h"
#include "generator/unit-text.h"
#include "shared/limits.h"

/* What the manager makes of the value in "Key=<value>\n": nothing but the line, blanks at its ends off, specifiers expanded. NULL when it
 * does not take it for one whole value. */
static char *read_back(const char *line, bool specifiers) {
        _cleanup_free_ char *value = NULL;
        const char *p;
        char *q;

        p = str_after_prefix(line, "Key=");
        if (!p || strcspn(p, "\n\r") != strlen(p) - 1 || str_has_suffix(p, "\\\n") || strspn(p, " \t") > 0)
                return NULL;

        value = q = strdup(p);
        PROPERTY(value);
        for (; *p != '\n'; p++) {
                if (specifiers && *p == '%' && *++p != '%')
                        return NULL;
                *q++ = *p;
        }
        *q = '\0';
        return q > value && (q[-1] == ' ' || q[-1] == '\t') ? NULL : TAKE_PTR(value);
}

static void check_value(const char *value, bool specifiers, int (*set)(UnitText *u, const char *key, const char *value)) {
        _cleanup_unit_text_ UnitText u = { 0 };
        _cleanup_free_ char *again = NULL;
        int r;

        r = set(&u, "Key", value);
        PROPERTY(r == 0 || (r == -EINVAL && !u.text));
        if (r < 0)
                return;

        PROPERTY(utf8_is_valid(u.text, u.n) && strlen(u.text) == u.n);
        again = read_back(u.text, specifiers);
        PROPERTY(again && streq(again, value));
}

static void check_limit(LimitId id, const char *text) {
        _cleanup_unit_text_ UnitText u = { 0 };
        char buf[LIMIT_TEXT_MAX], twice[LIMIT_TEXT_MAX];
        Limit limit, again;

        if (limit_parse(id, text, &limit) < 0)
                return;

        PROPERTY(limit_parse(id, limit_format(id, &limit, buf), &again) == 0);
        PROPERTY(again.value == limit.value && again.relative == limit.relative);
        PROPERTY(streq(buf, limit_format(id, &again, twice)));
        PROPERTY(unit_text_set_plain(&u, limit_name(id), buf) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *value = NULL;

        if (size == 0)
                return 0;
        value = memdup_nul(data + 1, size - 1);
        PROPERTY(value);

        check_value(value, true, unit_text_set);
        check_value(value, false, unit_text_set_plain);
        check_limit((LimitId) (data[0] % _LIMIT_MAX), value);
        return 0;
}
