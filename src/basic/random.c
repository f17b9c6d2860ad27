/* SPDX-License-Identifier: MIT */

#include <sys/random.h>

#include "basic/random.h"

int random_bytes(void *buf, size_t n) {
        char *p = buf;

        while (n > 0) {
                ssize_t k;

                k = getrandom(p, n, 0);
                if (k < 0) {
                        if (errno == EINTR)
                                continue;
                        return -errno;
                }

                p += k;
                n -= (size_t) k;
        }

        return 0;
}
