/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "guest/launch-files.h"

#define LIST_MAX (4 * MIB) /* more than execve() takes */
#define BRIDGE_MAX (4 * KIB)
#define GPG_KEYS_MAX (64 * MIB)

/* The launch directory may lie on the other side of a microVM, where inotify does not see what the host
 * does: the file is looked for again and again, eagerly while the launcher is expected to be at it. */
#define GO_EAGER_USEC (50 * USEC_PER_MSEC)
#define GO_EAGER_PAUSE_NSEC 500000
#define GO_PAUSE_NSEC 2000000
#define GO_TIMEOUT_USEC (60 * USEC_PER_SEC)

int nul_list_parse(const char *buf, size_t n, char ***ret) {
        _cleanup_strv_ char **v = NULL;
        size_t count = 0;
        const char *p = buf;

        if (n > 0 && buf[n - 1] != '\0')
                return -EBADMSG;

        for (size_t i = 0; i < n; i++)
                count += buf[i] == '\0';

        v = new0(char *, count + 1);
        if (!v)
                return -ENOMEM;

        for (size_t i = 0; i < count; i++) {
                v[i] = strdup(p);
                if (!v[i])
                        return -ENOMEM;
                p += strlen(p) + 1;
        }

        *ret = TAKE_PTR(v);
        return 0;
}

/* That it is opened tells the launcher that the guest program has taken over. */
static int try_go(int dir_fd) {
        _cleanup_close_ int fd = -EBADF;

        fd = openat(dir_fd, LAUNCH_FILE_GO, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        return fd < 0 ? -errno : 0;
}

int launch_wait_for_go(int dir_fd) {
        uint64_t since = now_usec();
        sigset_t ending;

        sigemptyset(&ending);
        sigaddset(&ending, SIGTERM);
        sigaddset(&ending, SIGINT);
        sigaddset(&ending, SIGHUP);
        sigaddset(&ending, SIGQUIT);

        for (;;) {
                struct timespec pause = { .tv_nsec = GO_PAUSE_NSEC };
                uint64_t waited = now_usec() - since;
                int r, sig;

                r = try_go(dir_fd);
                if (r != -ENOENT)
                        return r;
                if (waited >= GO_TIMEOUT_USEC)
                        return -ETIMEDOUT;
                if (waited < GO_EAGER_USEC)
                        pause.tv_nsec = GO_EAGER_PAUSE_NSEC;

                sig = sigtimedwait(&ending, NULL, &pause);
                if (sig > 0)
                        return sig;
        }
}

/* Reads a file that need not be there: `*ret` is then NULL. */
static int read_optional(int dir_fd, const char *name, size_t max, char **ret, size_t *ret_n) {
        int r;

        r = io_read_file_at(dir_fd, name, max, ret, ret_n);
        if (r == -ENOENT) {
                *ret = NULL;
                *ret_n = 0;
                return 0;
        }

        return r < 0 ? log_error(r, "Cannot read %s/%s", GUEST_LAUNCH, name) : 0;
}

static int read_list(int dir_fd, const char *name, char ***ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = io_read_file_at(dir_fd, name, LIST_MAX, &text, &n);
        if (r >= 0) {
                r = nul_list_parse(text, n, ret);
                explicit_bzero(text, n);
        }

        return r < 0 ? log_error(r, "Cannot read %s/%s", GUEST_LAUNCH, name) : 0;
}

int launch_files_load(int dir_fd, LaunchFiles *ret) {
        _cleanup_launch_files_ LaunchFiles f = {};
        int r;

        r = read_list(dir_fd, LAUNCH_FILE_ENVIRONMENT, &f.environment);
        if (r < 0)
                return r;

        r = read_list(dir_fd, LAUNCH_FILE_COMMAND, &f.command);
        if (r < 0)
                return r;
        if (strv_length(f.command) == 0)
                return log_error(-EBADMSG, "%s/%s names no command.", GUEST_LAUNCH, LAUNCH_FILE_COMMAND);

        r = read_optional(dir_fd, LAUNCH_FILE_BRIDGE, BRIDGE_MAX, &f.bridge_text, &f.bridge_size);
        if (r < 0)
                return r;
        if (f.bridge_text) {
                r = bridge_parse(f.bridge_text, f.bridge_size, &f.bridge);
                if (r < 0)
                        return log_error(r, "Cannot read %s/%s", GUEST_LAUNCH, LAUNCH_FILE_BRIDGE);
        }

        r = read_optional(dir_fd, LAUNCH_FILE_GPG_KEYS, GPG_KEYS_MAX, &f.gpg_keys, &f.gpg_keys_size);
        if (r < 0)
                return r;

        *ret = f;
        f = (LaunchFiles) {};
        return 0;
}

void launch_files_done(LaunchFiles *f) {
        strv_free(f->environment);
        strv_free(f->command);
        free(f->bridge_text);
        free(f->gpg_keys);
        *f = (LaunchFiles) {};
}
