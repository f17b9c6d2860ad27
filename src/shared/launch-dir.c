/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "shared/launch-dir.h"
#include "shared/profile.h"

/* A directory is made under this prefix, locked, and only then given its name: nobody ever sees a launch directory that its
 * living launcher has not locked yet. */
#define UNBORN_PREFIX ".new-"
#define CREATE_TRIES 100
#define CREATE_INTERVAL_MSEC 5

DEFINE_CLEANUP(DIR *, closedir);

int launch_dir_parse_name(const char *name, char **ret_profile, const char **ret_id) {
        size_t n = strlen(name);
        _cleanup_free_ char *profile = NULL;
        const char *id;

        if (n < 1 + 1 + LAUNCH_ID_LENGTH)
                return -EINVAL;

        id = name + n - LAUNCH_ID_LENGTH;
        if (!hex_is_valid(id, LAUNCH_ID_LENGTH) || id[-1] != '-')
                return -EINVAL;

        profile = strndup(name, n - LAUNCH_ID_LENGTH - 1);
        if (!profile)
                return -ENOMEM;
        if (!profile_name_is_valid(profile))
                return -EINVAL;

        *ret_profile = TAKE_PTR(profile);
        *ret_id = id;
        return 0;
}

static int base_check(int fd) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (st.st_uid != geteuid())
                return -EPERM;
        if ((st.st_mode & 0777) != 0700 && fchmod(fd, 0700) < 0)
                return -errno;

        return 0;
}

int launch_base_open(const Dirs *dirs) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        if (!dirs->runtime)
                return -ENOMEDIUM;
        if (mkdir(dirs->runtime, 0700) < 0 && errno != EEXIST)
                return -errno;

        fd = open(dirs->runtime, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;

        r = base_check(fd);
        return r < 0 ? r : TAKE_FD(fd);
}

static int lock_directory(int base_fd, const char *name, int operation) {
        _cleanup_close_ int fd = -EBADF;

        fd = openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return -errno;
        if (flock(fd, operation | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;

        return TAKE_FD(fd);
}

/* -EAGAIN: somebody was in the way. */
static int create_once(int base_fd, const char *unborn, const char *name) {
        _cleanup_close_ int fd = -EBADF;

        /* One that is there was made in an earlier try: the name is of this launch alone. */
        if (mkdirat(base_fd, unborn, 0700) < 0 && errno != EEXIST)
                return -errno;

        /* Somebody who looks around or clears up may hold it for a moment, and may have removed it then. */
        fd = lock_directory(base_fd, unborn, LOCK_EX);
        if (fd == -EBUSY || fd == -ENOENT)
                return -EAGAIN;
        if (fd < 0) {
                (void) unlinkat(base_fd, unborn, AT_REMOVEDIR);
                return fd;
        }

        if (renameat2(base_fd, unborn, base_fd, name, RENAME_NOREPLACE) < 0) {
                int r = errno == ENOENT ? -EAGAIN : -errno;

                (void) unlinkat(base_fd, unborn, AT_REMOVEDIR);
                return r;
        }

        return TAKE_FD(fd);
}

int launch_dir_create(int base_fd, const char *name) {
        _cleanup_free_ char *unborn = NULL;
        int r;

        r = asprintf_to(&unborn, UNBORN_PREFIX "%s", name);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < CREATE_TRIES; i++) {
                int fd;

                fd = create_once(base_fd, unborn, name);
                if (fd != -EAGAIN)
                        return fd;
                (void) poll(NULL, 0, CREATE_INTERVAL_MSEC);
        }

        (void) unlinkat(base_fd, unborn, AT_REMOVEDIR);
        return -EBUSY;
}

int launch_dir_claim(int base_fd, const char *name) {
        return lock_directory(base_fd, name, LOCK_EX);
}

int launch_dir_foreach(int base_fd, const char *profile, int (*f)(int base_fd, const char *name, void *userdata),
                void *userdata) {
        _cleanup_(closedirp) DIR *d = NULL;
        _cleanup_close_ int fd = -EBADF;

        fd = openat(base_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        d = fdopendir(fd);
        if (!d)
                return -errno;
        (void) TAKE_FD(fd);

        for (;;) {
                _cleanup_free_ char *of = NULL;
                const char *id;
                struct dirent *de;
                int r;

                errno = 0;
                de = readdir(d);
                if (!de)
                        return -errno;

                r = launch_dir_parse_name(str_after_prefix(de->d_name, UNBORN_PREFIX) ?: de->d_name, &of, &id);
                if (r == -ENOMEM)
                        return r;
                if (r < 0 || (profile && !streq(of, profile)))
                        continue;

                r = f(base_fd, de->d_name, userdata);
                if (r < 0)
                        return r;
        }
}

int launch_dir_is_alive(int base_fd, const char *name) {
        _cleanup_close_ int fd = -EBADF;

        /* Shared: who only looks is not taken for a launcher by others who look. */
        fd = lock_directory(base_fd, name, LOCK_SH);
        return fd == -EBUSY ? 1 : fd < 0 ? fd : 0;
}

static int check_alive(int base_fd, const char *name, void *userdata) {
        bool *alive = userdata;

        if (launch_dir_is_alive(base_fd, name) > 0)
                *alive = true;
        return 0;
}

int launch_any_alive(const Dirs *dirs, const char *profile) {
        _cleanup_close_ int base_fd = -EBADF;
        bool alive = false;
        int r;

        if (!dirs->runtime)
                return 0;

        base_fd = open(dirs->runtime, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (base_fd < 0)
                return errno == ENOENT ? 0 : -errno;

        r = launch_dir_foreach(base_fd, profile, check_alive, &alive);
        return r < 0 ? r : alive;
}

int launch_dir_read_pid(int dir_fd, const char *name, pid_t *ret) {
        _cleanup_free_ char *text = NULL;
        uint64_t pid;
        int r;

        r = io_read_file_at(dir_fd, name, 32, &text, NULL);
        if (r < 0)
                return r;
        text[strcspn(text, "\n")] = '\0';
        r = parse_uint(text, 1, INT32_MAX, &pid);
        if (r < 0)
                return r;

        *ret = (pid_t) pid;
        return 0;
}
