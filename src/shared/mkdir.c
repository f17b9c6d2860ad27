/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "shared/mkdir.h"

int mkdir_open(const char *path) {
        _cleanup_free_ char *copy = NULL;
        int fd;

        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 || errno != ENOENT)
                return fd >= 0 ? fd : -errno;

        copy = strdup(path);
        if (!copy)
                return -ENOMEM;

        for (char *q = copy + 1;; q++) {
                char c = *q;

                if (c != '/' && c != '\0')
                        continue;

                *q = '\0';
                if (mkdir(copy, 0700) < 0 && errno != EEXIST)
                        return -errno;
                *q = c;
                if (c == '\0')
                        break;
        }

        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd >= 0 ? fd : -errno;
}
