/* SPDX-License-Identifier: MIT */

/* Mounts lie below the home directory, and the directories on the way to each were made by the container
 * runtime, as root: ssh, npm and others could not write beside them. Which these are nobody tells (a microVM
 * shows no mount table), but the guest's root can own nothing else there: a host's directory has an owner of
 * the host's, which is never the guest's root. So root's directories below the home directory become the
 * user's, a few levels deep, and never across a mount where one can be seen. */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "guest/home.h"

#define DEPTH_MAX 6
#define DIRECTORIES_MAX 256

static void closedirp(DIR **d) {
        if (*d)
                (void) closedir(*d);
}

static int open_directory(int dir_fd, const char *name) {
        int fd;

        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

static int own(int fd) {
        return fchown(fd, GUEST_UID, GUEST_UID) < 0 ? -errno : 0;
}

/* Gives root's directories below `dir_fd` away. Takes over `dir_fd`. */
static void own_below(int dir_fd, dev_t device, unsigned depth, unsigned *left) {
        _cleanup_(closedirp) DIR *d = NULL;

        d = fdopendir(dir_fd);
        if (!d) {
                (void) fd_close(dir_fd);
                return;
        }

        for (struct dirent *entry; (entry = readdir(d)) && *left > 0;) {
                _cleanup_close_ int fd = -EBADF;
                struct stat st;

                if ((entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) || streq(entry->d_name, ".") ||
                                streq(entry->d_name, ".."))
                        continue;

                fd = open_directory(dirfd(d), entry->d_name);
                if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0 || st.st_dev != device)
                        continue;

                (*left)--;
                if (own(fd) >= 0 && depth > 1)
                        own_below(TAKE_FD(fd), device, depth - 1, left);
        }
}

int home_open(void) {
        _cleanup_close_ int fd = -EBADF;
        unsigned left = DIRECTORIES_MAX;
        struct stat st;
        int copy;

        if (mkdir("/home", 0755) < 0 && errno != EEXIST)
                return -errno;
        if (mkdir(GUEST_HOME, 0700) < 0 && errno != EEXIST)
                return -errno;

        fd = open_directory(AT_FDCWD, GUEST_HOME);
        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_uid != GUEST_UID) {
                int r;

                r = own(fd);
                if (r < 0)
                        return r;
        }

        copy = open_directory(fd, ".");
        if (copy >= 0)
                own_below(copy, st.st_dev, DEPTH_MAX, &left);

        return TAKE_FD(fd);
}

int home_make_directory(int dir_fd, const char *name, unsigned mode) {
        _cleanup_close_ int fd = -EBADF;
        struct stat above, st;
        int r;

        if (mkdirat(dir_fd, name, mode) < 0 && errno != EEXIST)
                return -errno;

        fd = open_directory(dir_fd, name);
        if (fd < 0)
                return fd;
        if (fstat(dir_fd, &above) < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (st.st_dev != above.st_dev)
                return -EXDEV;

        if (st.st_uid == 0) {
                r = own(fd);
                if (r < 0)
                        return r;
        }

        return TAKE_FD(fd);
}

int home_link_claude(int home_fd) {
        _cleanup_close_ int local = -EBADF, bin = -EBADF;

        if (access(GUEST_NATIVE_CLAUDE, F_OK) < 0)
                return 0;

        local = home_make_directory(home_fd, ".local", 0755);
        if (local < 0)
                return local;
        bin = home_make_directory(local, "bin", 0755);
        if (bin < 0)
                return bin;

        /* Whatever the image has there is older. */
        if (unlinkat(bin, "claude", 0) < 0 && errno != ENOENT)
                return -errno;
        if (symlinkat(GUEST_NATIVE_CLAUDE, bin, "claude") < 0)
                return -errno;

        return fchownat(bin, "claude", GUEST_UID, GUEST_UID, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}
