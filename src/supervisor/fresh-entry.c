/* SPDX-License-Identifier: MIT */

/* The copy is written beside the original, with its mode and times, and exchanged with it in one step: there is an entry all the time,
 * and what comes out at the other name shows whether it is what was copied. If somebody (git, an editor) saved a newer one in between, that
 * is put back and all begins anew.
 *
 * A program that has the file open for writing would go on in the old inode. A lease, which the kernel gives only for a file that nobody
 * has open for writing, tells; it is asked for again for a moment, and then done without: whoever still writes may be the frozen guest, which
 * never ends. Others who open it for writing meanwhile wait until the lease is given back. */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "shared/copy-tree.h"
#include "supervisor/fresh-entry.h"
#include "shared/replace-file.h"
#include "shared/rm-rf.h"

#define TRIES 16
#define LEASE_TRIES 10
#define LEASE_INTERVAL_MSEC 10

static int open_file(int dir_fd, const char *name, struct stat *ret) {
        _cleanup_close_ int fd = -EBADF;

        fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return -errno;
        if (fstat(fd, ret) < 0)
                return -errno;
        if (!S_ISREG(ret->st_mode))
                return -EPERM;

        return TAKE_FD(fd);
}

/* Ends with the descriptor. */
static void take_lease(int fd) {
        (void) signal(SIGIO, SIG_IGN); /* somebody waits for it: it is given back in a moment anyway */

        for (unsigned i = 0; i < LEASE_TRIES; i++) {
                if (fcntl(fd, F_SETLEASE, F_RDLCK) >= 0 || errno != EAGAIN)
                        return; /* a file system without leases, or a foreign file */
                (void) poll(NULL, 0, LEASE_INTERVAL_MSEC);
        }
}

static int write_copy(int dir_fd, const char *name, const char *data, size_t n, const struct stat *st) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        r = io_write_all(fd, data, n);
        if (r >= 0 && (fchmod(fd, st->st_mode & 07777) < 0 ||
                        futimens(fd, (const struct timespec[]) { st->st_atim, st->st_mtim }) < 0 || fdatasync(fd) < 0))
                r = -errno;
        return r;
}

static void hash(const char *data, size_t n, FreshContent *ret) {
        Sha256 h;

        sha256_begin(&h);
        sha256_add(&h, data, n);
        sha256_finish(&h, ret->sha256);
        ret->known = true;
}

/* A copy of the file `name` as `copy_name`. Returns the file's descriptor, which may hold a lease, or negative errno. */
static int copy_file(int dir_fd, const char *name, const char *copy_name, FreshContent *ret, struct stat *ret_st) {
        _cleanup_free_ char *data = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n;
        int r;

        fd = open_file(dir_fd, name, ret_st);
        if (fd < 0)
                return fd;
        take_lease(fd);
        r = io_read_all(fd, FRESH_FILE_MAX, &data, &n);
        if (r >= 0 && fstat(fd, ret_st) < 0)
                r = -errno;
        if (r >= 0)
                r = write_copy(dir_fd, copy_name, data, n, ret_st);
        if (r < 0)
                return r;

        hash(data, n, ret);
        return TAKE_FD(fd);
}

static int copy_directory(int dir_fd, const char *name, const char *copy_name, struct stat *ret_st) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || fstat(fd, ret_st) < 0)
                return -errno;
        r = copy_tree_at(fd, dir_fd, copy_name);
        if (r >= 0 && utimensat(dir_fd, copy_name, (const struct timespec[]) { ret_st->st_atim, ret_st->st_mtim }, AT_SYMLINK_NOFOLLOW) < 0)
                r = -errno;
        return r;
}

static bool is_unchanged(const struct stat *a, const struct stat *b) {
        /* The exchange changes ctime. */
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
                        a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Exchanges the two names. `*ret_in` gets hold of what was `copy` and is `name` now: as long as that is so, no later file has its inode. `*ret_out`
 * is of what was `name`. */
static int exchange_names(int dir_fd, const char *name, const char *copy, int *ret_in, struct stat *ret_out) {
        _cleanup_close_ int in = -EBADF;

        in = openat(dir_fd, copy, O_PATH | O_CLOEXEC | O_NOFOLLOW);
        if (in < 0 || renameat2(dir_fd, copy, dir_fd, name, RENAME_EXCHANGE) < 0 || fstatat(dir_fd, copy, ret_out, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;

        *ret_in = TAKE_FD(in);
        return 0;
}

/* `copy` is what came out in exchange for `first`, which is taken, and newer than that. It goes back, and so does whatever still newer one
 * comes out for it, until nobody was faster. */
static int put_back(int dir_fd, const char *name, const char *copy, int first) {
        _cleanup_close_ int in = first;

        for (;;) {
                struct stat expected, out;
                int r, newer;

                if (fstat(in, &expected) < 0)
                        return -errno;
                r = exchange_names(dir_fd, name, copy, &newer, &out);
                if (r < 0)
                        return r;

                fd_close(in);
                in = newer;
                if (out.st_dev == expected.st_dev && out.st_ino == expected.st_ino)
                        return 0;
        }
}

/* Puts `copy` in the place of `name`, which is then of the name `copy`. -EAGAIN: somebody was faster, and has what was saved last. */
static int exchange(int dir_fd, const char *name, const char *copy, const struct stat *copied) {
        _cleanup_close_ int ours = -EBADF;
        struct stat out;
        int r;

        r = exchange_names(dir_fd, name, copy, &ours, &out);
        if (r < 0 || is_unchanged(copied, &out))
                return r;

        r = put_back(dir_fd, name, copy, TAKE_FD(ours));
        return r < 0 ? r : -EAGAIN;
}

static int try_once(int dir_fd, const char *name, const char *copy, FreshContent *ret) {
        _cleanup_close_ int fd = -EBADF; /* with its lease until after the exchange */
        struct stat st;
        int r;

        if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
                return -errno;
        if (S_ISLNK(st.st_mode))
                return -ELOOP;

        if (S_ISDIR(st.st_mode))
                r = copy_directory(dir_fd, name, copy, &st);
        else
                r = fd = copy_file(dir_fd, name, copy, ret, &st);
        return r < 0 ? r : exchange(dir_fd, name, copy, &st);
}

int fresh_entry_at(int dir_fd, const char *name, FreshContent *ret) {
        for (unsigned i = 0; i < TRIES; i++) {
                _cleanup_free_ char *copy = NULL;
                int r;

                *ret = (FreshContent) { 0 };
                r = temporary_name(name, &copy);
                if (r < 0)
                        return r;

                r = try_once(dir_fd, name, copy, ret);
                (void) rm_rf_at(dir_fd, copy);
                if (r != -EAGAIN)
                        return r;
        }

        return -EBUSY;
}

int fresh_content_at(int dir_fd, const char *name, FreshContent *ret) {
        _cleanup_free_ char *data = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        size_t n;
        int r;

        *ret = (FreshContent) { 0 };
        fd = open_file(dir_fd, name, &st);
        if (fd < 0)
                return fd;
        r = io_read_all(fd, FRESH_FILE_MAX, &data, &n);
        if (r < 0)
                return r;

        hash(data, n, ret);
        return 0;
}
