/* SPDX-License-Identifier: MIT */

#include <dirent.h>
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
#include "shared/lock.h"
#include "shared/mkdir.h"
#include "shared/replace-file.h"

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

static void show_progress(uint64_t done, uint64_t total, void *userdata) {
        const NativeClaude *c = userdata;

        if (done < total)
                (void) fprintf(stderr, "\rCopying claude %s, once for all sandboxes: %u %%", c->version,
                                (unsigned) (100.0 * (double) done / (double) total));
        else
                (void) fprintf(stderr, "\r\x1b[K");
}

/* Another launch may have been quicker, and use its copy: that one stays. With the directory's lock. */
static int publish(int dir_fd, const char *unfinished, const NativeClaude *c, const struct stat *source) {
        if (copy_is_whole(dir_fd, c, source))
                return unlinkat(dir_fd, unfinished, 0) < 0 ? -errno : 0;

        return renameat(dir_fd, unfinished, dir_fd, c->version) < 0 ? -errno : 0;
}

/* The directory is locked only while a name appears or goes; the copy, which takes longer, is locked itself, so that no launch takes it
 * for a leftover. Returns with the directory locked. */
static int make_copy(int dir_fd, const NativeClaude *c, int source_fd, const struct stat *source) {
        _cleanup_free_ char *unfinished = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = temporary_name(c->version, &unfinished);
        if (r < 0)
                return r;
        r = lock_bounded(dir_fd, LOCK_EX);
        if (r < 0 || copy_is_whole(dir_fd, c, source))
                return r;
        fd = openat(dir_fd, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || flock(dir_fd, LOCK_UN) < 0)
                return -errno;

        r = clone_contents(source_fd, fd, isatty(STDERR_FILENO) ? show_progress : NULL, (void *) c);
        if (r >= 0 && fchmod(fd, 0755) < 0)
                r = -errno;
        if (r >= 0)
                r = lock_bounded(dir_fd, LOCK_EX);
        if (r >= 0)
                r = publish(dir_fd, unfinished, c, source);
        if (r < 0)
                (void) unlinkat(dir_fd, unfinished, 0);

        return r;
}

static bool is_unused(int dir_fd, const char *name) {
        _cleanup_close_ int fd = -EBADF;

        fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) >= 0;
}

/* With the directory's lock, so that nobody is about to use a copy, or to lock one that he has begun. */
static void prune(int dir_fd, const NativeClaude *c) {
        _cleanup_close_ int fd = -EBADF;
        DIR *d;

        fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        d = fd >= 0 ? fdopendir(fd) : NULL;
        if (!d)
                return;
        TAKE_FD(fd);

        for (struct dirent *e; (e = readdir(d));) {
                const bool unfinished = e->d_name[0] == '.' && e->d_type == DT_REG;

                const bool older = version_is_plausible(e->d_name) && strverscmp(e->d_name, c->version) < 0;

                if ((unfinished || older) && is_unused(dir_fd, e->d_name))
                        (void) unlinkat(dir_fd, e->d_name, 0);
        }

        (void) closedir(d);
}

int native_claude_copy(const NativeClaude *c, const Dirs *dirs) {
        _cleanup_close_ int dir_fd = -EBADF, source_fd = -EBADF, fd = -EBADF;
        _cleanup_free_ char *dir = NULL;
        struct stat source;
        int r;

        dir = path_join(dirs->data, "claude");
        if (!dir)
                return -ENOMEM;
        dir_fd = mkdir_open(dir);
        if (dir_fd < 0)
                return dir_fd;
        source_fd = open(c->source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (source_fd < 0 || fstat(source_fd, &source) < 0)
                return -errno;

        r = lock_bounded(dir_fd, LOCK_SH);
        if (r >= 0 && !copy_is_whole(dir_fd, c, &source))
                r = make_copy(dir_fd, c, source_fd, &source);
        if (r < 0)
                return r;

        /* Nobody removes it, or puts another in its place, before it is locked as well. */
        fd = openat(dir_fd, c->version, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
                return -errno;

        if (flock(dir_fd, LOCK_EX | LOCK_NB) >= 0)
                prune(dir_fd, c);
        return TAKE_FD(fd);
}
