/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "launch/profile-links.h"
#include "shared/replace-file.h"

const char *const profile_link_names[] = { "commands", "skills", "hooks", NULL };

char *profile_link_target(const char *home, const char *name) {
        char *s;

        return asprintf_to(&s, "%s/.claude/%s", home, name) < 0 ? NULL : s;
}

static int read_link(int dir_fd, const char *name, char **ret) {
        char buf[PATH_MAX];
        ssize_t n;

        n = readlinkat(dir_fd, name, buf, sizeof(buf));
        if (n < 0)
                return -errno;
        if (n == (ssize_t) sizeof(buf))
                return -ENAMETOOLONG;

        *ret = memdup_nul(buf, (size_t) n);
        return *ret ? 0 : -ENOMEM;
}

int profile_link_read(
                int profile_fd, const char *home, const char *name, LinkState *ret, char **ret_target) {
        _cleanup_free_ char *target = NULL, *global = NULL;
        struct stat st;
        int r;

        if (fstatat(profile_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
                if (errno != ENOENT)
                        return -errno;
                *ret = LINK_NONE;
        } else if (S_ISDIR(st.st_mode))
                *ret = LINK_DIRECTORY;
        else if (!S_ISLNK(st.st_mode))
                *ret = LINK_ODD;
        else {
                r = read_link(profile_fd, name, &target);
                if (r < 0)
                        return r;
                global = profile_link_target(home, name);
                if (!global)
                        return -ENOMEM;
                *ret = streq(target, global) ? LINK_GLOBAL : LINK_ELSEWHERE;
        }

        if (ret_target)
                *ret_target = TAKE_PTR(target);
        return 0;
}

/* A link under another name first: when it takes the place of one, there is always one there. */
static int replace_by_link(int profile_fd, const char *target, const char *name) {
        _cleanup_free_ char *temporary = NULL;
        int r;

        r = temporary_name(name, &temporary);
        if (r < 0)
                return r;

        if (symlinkat(target, profile_fd, temporary) < 0)
                return -errno;
        if (renameat(profile_fd, temporary, profile_fd, name) < 0) {
                r = -errno;
                (void) unlinkat(profile_fd, temporary, 0);
                return r;
        }

        return 0;
}

int profile_link_make(int profile_fd, const char *home, const char *name) {
        _cleanup_free_ char *target = NULL;
        LinkState state;
        int r;

        target = profile_link_target(home, name);
        if (!target)
                return -ENOMEM;

        r = profile_link_read(profile_fd, home, name, &state, NULL);
        if (r < 0 || state == LINK_GLOBAL)
                return r;

        if (state == LINK_ODD)
                return -EEXIST;
        if (state == LINK_DIRECTORY && unlinkat(profile_fd, name, AT_REMOVEDIR) < 0)
                return errno == EEXIST ? -ENOTEMPTY : -errno;

        return replace_by_link(profile_fd, target, name);
}
