/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"

void strv_free(char **v) {
        if (!v)
                return;

        for (char **s = v; *s; s++)
                free(*s);
        free(v);
}

size_t strv_length(char *const *v) {
        size_t n = 0;

        STRV_FOREACH(s, v)
                n++;
        return n;
}

bool strv_contains(char *const *v, const char *s) {
        STRV_FOREACH(i, v)
                if (streq(*i, s))
                        return true;
        return false;
}

int strv_take(char ***v, char *s) {
        size_t n = strv_length(*v);
        char **w;

        if (!s)
                return -ENOMEM;

        w = reallocarray(*v, n + 2, sizeof(char *));
        if (!w) {
                free(s);
                return -ENOMEM;
        }

        w[n] = s;
        w[n + 1] = NULL;
        *v = w;
        return 0;
}

int strv_add(char ***v, const char *s) {
        return strv_take(v, strdup(s));
}

int strv_addf(char ***v, const char *format, ...) {
        va_list ap;
        char *s;
        int r;

        va_start(ap, format);
        r = vasprintf_to(&s, format, ap);
        va_end(ap);

        return r < 0 ? r : strv_take(v, s);
}

int strv_add_many(char ***v, ...) {
        const char *s;
        va_list ap;
        int r = 0;

        va_start(ap, v);
        while (r >= 0 && (s = va_arg(ap, const char *)))
                r = strv_add(v, s);
        va_end(ap);

        return r;
}

int strv_extend(char ***v, char *const *more) {
        STRV_FOREACH(s, more) {
                int r;

                r = strv_add(v, *s);
                if (r < 0)
                        return r;
        }

        return 0;
}

const char *strv_env_get(char *const *v, const char *name) {
        size_t n = strlen(name);
        const char *value = NULL;

        STRV_FOREACH(s, v)
                if (strncmp(*s, name, n) == 0 && (*s)[n] == '=')
                        value = *s + n + 1;
        return value;
}

int strv_split(const char *s, char separator, char ***ret) {
        static const char blanks[] = " \t\n";
        _cleanup_strv_ char **v = NULL;

        v = new0(char *, 1);
        if (!v)
                return -ENOMEM;

        for (const char *end; s; s = end) {
                size_t n;

                end = strchr(s, separator);
                n = end ? (size_t) (end++ - s) : strlen(s);

                for (; n > 0 && strchr(blanks, *s); n--)
                        s++;
                while (n > 0 && strchr(blanks, s[n - 1]))
                        n--;

                if (n > 0) {
                        int r;

                        r = strv_take(&v, strndup(s, n));
                        if (r < 0)
                                return r;
                }
        }

        *ret = TAKE_PTR(v);
        return 0;
}
