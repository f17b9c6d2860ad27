/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/find-program.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define OUR_NAME "claude-profile"
#define SCRIPT_SIZE_MAX (64 * KIB) /* of a wrapper; claude itself is far larger */

static int check_executable(const char *path, struct stat *ret) {
        if (stat(path, ret) < 0)
                return -errno;
        if (!S_ISREG(ret->st_mode) || access(path, X_OK) < 0)
                return -EACCES;

        return 0;
}

static bool is_script_that_calls_us(const char *path, const struct stat *st) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *text = NULL;
        size_t n;

        if ((size_t) st->st_size > SCRIPT_SIZE_MAX)
                return false;

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 || io_read_all(fd, SCRIPT_SIZE_MAX, &text, &n) < 0)
                return false;

        return str_after_prefix(text, "#!") && memmem(text, n, OUR_NAME, STRLEN(OUR_NAME));
}

/* A `claude` in $PATH may be a link to us or a script that calls us: launching it would go round and round.
 */
static bool leads_to_us(const char *path, const struct stat *st) {
        struct stat self;

        if (stat("/proc/self/exe", &self) >= 0 && self.st_dev == st->st_dev && self.st_ino == st->st_ino)
                return true;

        return is_script_that_calls_us(path, st);
}

static int check_candidate(const char *path, FindFlags flags) {
        struct stat st;
        int r;

        r = check_executable(path, &st);
        if (r < 0)
                return r;

        return flags & FIND_NOT_OURSELVES && leads_to_us(path, &st) ? -ELOOP : 0;
}

static int search(const char *path_variable, const char *name, FindFlags flags, char **ret,
                char **passed_over) {
        int found = -ENOENT;

        for (const char *p = path_variable, *end; *p; p = *end ? end + 1 : end) {
                _cleanup_free_ char *dir = NULL, *full = NULL;
                int r;

                end = strchrnul(p, ':');
                if (*p != '/')
                        continue;

                dir = strndup(p, (size_t) (end - p));
                full = dir ? path_join(dir, name) : NULL;
                if (!full)
                        return -ENOMEM;

                r = check_candidate(full, flags);
                if (r >= 0) {
                        *ret = TAKE_PTR(full);
                        return 0;
                }
                if (r == -EACCES)
                        found = r;
                if (r == -ELOOP && !*passed_over)
                        *passed_over = TAKE_PTR(full);
        }

        return found;
}

int find_program(const char *name, FindFlags flags, char **ret, char **ret_passed_over) {
        const char *path = getenv("PATH");
        int r;

        *ret_passed_over = NULL;
        if (!strchr(name, '/'))
                return search(path ?: DEFAULT_PATH, name, flags, ret, ret_passed_over);

        r = check_candidate(name, flags);
        return r < 0 ? r : strdup_to(ret, name);
}
