/* SPDX-License-Identifier: MIT */

#include <stdarg.h>
#include <stdio.h>

#include "basic/alloc.h"

int grow(void *p, size_t *allocated, size_t n, size_t item_size) {
        void **v = p, *q;
        size_t want;

        if (n <= *allocated)
                return 0;

        want = MAX(n, MAX(*allocated * 2, (size_t) 8));
        q = reallocarray(*v, want, item_size);
        if (!q)
                return -ENOMEM;

        *v = q;
        *allocated = want;
        return 0;
}

void *memdup_nul(const void *p, size_t n) {
        char *q;

        q = malloc(n + 1);
        if (!q)
                return NULL;

        if (n > 0)
                memcpy(q, p, n);
        q[n] = '\0';
        return q;
}

int strdup_to(char **p, const char *s) {
        char *copy = NULL;

        if (s) {
                copy = strdup(s);
                if (!copy)
                        return -ENOMEM;
        }

        free(*p);
        *p = copy;
        return 0;
}

int vasprintf_to(char **ret, const char *format, va_list ap) {
        char *s;

        if (vasprintf(&s, format, ap) < 0)
                return -ENOMEM;

        *ret = s;
        return 0;
}

int asprintf_to(char **ret, const char *format, ...) {
        va_list ap;
        int r;

        va_start(ap, format);
        r = vasprintf_to(ret, format, ap);
        va_end(ap);
        return r;
}
