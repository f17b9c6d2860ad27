/* SPDX-License-Identifier: MIT */

#include <strings.h>

#include "basic/str.h"
#include "basic/strv.h"
#include "launch/near-name.h"

#define LENGTH_MAX 100

/* How many letters must be put in, left out, replaced or swapped with their neighbour (the restricted edit
 * distance). */
static unsigned distance(const char *a, const char *b) {
        unsigned rows[3][LENGTH_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
        const size_t n = strlen(a), m = strlen(b);

        if (n > LENGTH_MAX || m > LENGTH_MAX)
                return UINT32_MAX;

        for (size_t j = 0; j <= m; j++)
                last[j] = before[j] = (unsigned) j;

        for (size_t i = 1; i <= n; i++) {
                unsigned *free_row;

                row[0] = (unsigned) i;
                for (size_t j = 1; j <= m; j++) {
                        unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);

                        d = MIN(d, last[j] + 1);
                        d = MIN(d, row[j - 1] + 1);
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                d = MIN(d, before[j - 2] + 1);
                        row[j] = d;
                }

                free_row = before;
                before = last;
                last = row;
                row = free_row;
        }

        return last[m];
}

const char *near_name(char *const *names, const char *word) {
        const size_t n = strlen(word);
        const unsigned most = n > 4 ? 2 : n > 1 ? 1 : 0;
        const char *found = NULL;
        unsigned best = most + 1;

        STRV_FOREACH(name, names) {
                unsigned d;

                if (strcasecmp(*name, word) == 0)
                        return *name;

                d = distance(*name, word);
                if (d >= best && n > 1 && str_after_prefix(*name, word))
                        d = most;
                if (d < best) {
                        best = d;
                        found = *name;
                }
        }

        return found;
}
