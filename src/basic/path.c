/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/path.h"
#include "basic/str.h"

char *path_join(const char *a, const char *b) {
        char *s;
        int r;

        r = asprintf_to(&s, "%s%s%s", a, str_has_suffix(a, "/") ? "" : "/", b);
        return r < 0 ? NULL : s;
}

bool path_is_within(const char *path, const char *dir) {
        const char *rest;

        if (streq(dir, "/"))
                return path[0] == '/';

        rest = str_after_prefix(path, dir);
        return rest && (*rest == '\0' || *rest == '/');
}

bool path_overlaps(const char *a, const char *b) {
        return path_is_within(a, b) || path_is_within(b, a);
}

bool path_is_normalized(const char *path) {
        if (path[0] != '/')
                return false;
        if (path[1] == '\0')
                return true;

        for (const char *s = path; *s;) {
                size_t n;

                n = strcspn(++s, "/");
                if (n == 0 || (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.'))
                        return false;
                s += n;
        }

        return true;
}

const char *path_last(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}
