/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/path.h"
#include "basic/str.h"
#include "guest/forward.h"

/* A directory that is there already is made private only if it is the guest user's own, or root's in a place
 * that is the sandbox's: never /tmp. */
static bool directory_may_be_private(const char *path, const struct stat *st) {
        if (st->st_uid == GUEST_UID)
                return !streq(path, GUEST_HOME);

        return st->st_uid == 0 &&
               (path_is_within(path, GUEST_RUN) ||
                               (path_is_within(path, GUEST_HOME) && !streq(path, GUEST_HOME)));
}

static int make_private_directory(const char *path) {
        _cleanup_close_ int fd = -EBADF;
        bool made;
        struct stat st;

        made = mkdir(path, 0700) >= 0;
        if (!made && errno != EEXIST)
                return -errno;

        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!made && !directory_may_be_private(path, &st))
                return -EPERM;

        if (fchown(fd, GUEST_UID, GUEST_UID) < 0 || fchmod(fd, 0700) < 0)
                return -errno;

        return 0;
}

/* Removes a socket that nobody serves. Returns 0 or negative errno. */
static int remove_stale(const struct sockaddr_un *address) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        if (lstat(address->sun_path, &st) < 0)
                return -errno;
        if (!S_ISSOCK(st.st_mode))
                return -EEXIST;

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *) address, sizeof(*address)) >= 0 || errno != ECONNREFUSED)
                return -EADDRINUSE;

        return unlink(address->sun_path) < 0 ? -errno : 0;
}

/* bind() makes the socket's file with the mode that the umask leaves: it is never open to others, not even
 * for a moment. */
static int bind_private(int fd, const struct sockaddr_un *address) {
        mode_t saved;
        int r;

        saved = umask(0177);
        r = bind(fd, (const struct sockaddr *) address, sizeof(*address)) < 0 ? -errno : 0;
        (void) umask(saved);

        return r;
}

int forward_bind(const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_free_ char *directory = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);

        directory = strndup(path, (size_t) (path_last(path) - path) - 1);
        if (!directory)
                return -ENOMEM;
        r = make_private_directory(directory);
        if (r < 0)
                return r;

        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
                return -errno;

        r = bind_private(fd, &address);
        if (r == -EADDRINUSE) {
                r = remove_stale(&address);
                if (r >= 0)
                        r = bind_private(fd, &address);
        }
        if (r < 0)
                return r;

        if (lchown(path, GUEST_UID, GUEST_UID) < 0 || listen(fd, SOMAXCONN) < 0)
                return -errno;

        return TAKE_FD(fd);
}
