/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/host-path.h"

static bool may_stay(const char *entry, const char *const *places, size_t n) {
        _cleanup_free_ char *real = NULL;

        if (entry[0] != '/')
                return false;
        real = realpath(entry, NULL);
        if (!real)
                return false; /* nothing is there now; what comes there later is not the user's */

        for (size_t i = 0; i < n; i++)
                if (places[i] && (path_is_within(real, places[i]) || path_is_within(entry, places[i])))
                        return false;

        return true;
}

int host_path_filter(const char *path, const char *const *places, size_t n, char **ret) {
        _cleanup_free_ char *copy = strdup(path), *out = calloc(strlen(path) + 1, 1);
        char *entry, *rest = copy;

        if (!copy || !out)
                return -ENOMEM;

        while ((entry = strsep(&rest, ":"))) {
                if (!may_stay(entry, places, n))
                        continue;
                if (*out)
                        strcat(out, ":");
                strcat(out, entry);
        }

        *ret = TAKE_PTR(out);
        return 0;
}

int host_path_restrict(const char *const *places, size_t n) {
        _cleanup_free_ char *filtered = NULL;
        int r;

        r = host_path_filter(getenv("PATH") ?: "/usr/local/bin:/usr/bin:/bin", places, n, &filtered);
        if (r < 0)
                return r;

        return setenv("PATH", *filtered ? filtered : "/usr/bin:/bin", 1) < 0 ? -ENOMEM : 0;
}
