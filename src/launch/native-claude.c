/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/find-program.h"
#include "launch/native-claude.h"
#include "shared/clone-file.h"
#include "shared/mkdir.h"

static bool version_is_plausible(const char *s) {
        return s[0] >= '0' && s[0] <= '9' && strlen(s) < 64 &&
                strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_") == strlen(s);
}

int native_claude_find(const Dirs *dirs, const Settings *settings, NativeClaude *ret) {
        _cleanup_free_ char *program = NULL, *passed_over = NULL, *real = NULL, *parent = NULL;
        NativeClaude c = { 0 };
        const char *version;
        int r;

        /* The one that a host launch would run. */
        r = find_program(settings->claude_bin, FIND_NOT_OURSELVES, &program, &passed_over);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        real = realpath(program, NULL);
        if (!real)
                return 0;

        version = path_last(real);
        parent = strndup(real, (size_t) (version - real));
        if (!parent)
                return -ENOMEM;
        if (!str_has_suffix(parent, "/claude/versions/") || !version_is_plausible(version))
                return 0;

        c.version = strdup(version);
        if (!c.version || asprintf_to(&c.copy, "%s/claude/%s", dirs->data, version) < 0) {
                native_claude_clear(&c);
                return -ENOMEM;
        }

        c.source = TAKE_PTR(real);
        *ret = c;
        return 1;
}

void native_claude_clear(NativeClaude *c) {
        free(c->source);
        free(c->version);
        free(c->copy);
        *c = (NativeClaude) { 0 };
}

/* A leftover of a copy that was cut off is never seen under this name; only the size is compared, as a guard against a disk
 * that lost data. */
static bool copy_is_whole(int dir_fd, const NativeClaude *c, const struct stat *source) {
        struct stat st;

        return fstatat(dir_fd, c->version, &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISREG(st.st_mode) && st.st_size == source->st_size;
}

int native_claude_copy(const NativeClaude *c, const Dirs *dirs) {
        _cleanup_close_ int source_fd = -EBADF, dir_fd = -EBADF, fd = -EBADF;
        _cleanup_free_ char *dir = NULL;
        struct stat st;
        int r;

        dir = path_join(dirs->data, "claude");
        if (!dir)
                return -ENOMEM;
        dir_fd = mkdir_open(dir);
        if (dir_fd < 0)
                return dir_fd;
        source_fd = open(c->source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (source_fd < 0 || fstat(source_fd, &st) < 0)
                return -errno;

        if (!copy_is_whole(dir_fd, c, &st)) {
                r = clone_file_at(source_fd, dir_fd, c->version, 0755);
                if (r < 0)
                        return r;
        }

        fd = openat(dir_fd, c->version, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
                return -errno;

        return TAKE_FD(fd);
}
