/* SPDX-License-Identifier: MIT */

/* An image may have no uid 1000, one of another name (node, ubuntu), one with another home, or no
 * /etc/passwd at all. ssh takes its directory from the user database, not from $HOME, so the first line of
 * uid 1000 must be ours; a line that was there stays, and its name still works. The password field is "*",
 * not "x": PAM then does not miss the line in /etc/shadow that we do not write, and sudo accepts the
 * account. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "guest/user.h"

#define ACCOUNT_FILE_MAX (4 * MIB)

#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)
#define ID STRINGIFY(GUEST_UID)

enum {
        FIELD_NAME = 0,
        FIELD_ID = 2, /* in both files */
        PASSWD_FIELD_HOME = 5,
        PASSWD_FIELD_SHELL = 6,
};

/* Field `index` of the line at `line`; returns its length. A field that the line does not have is empty. */
static size_t line_field(const char *line, unsigned index, const char **ret) {
        while (index > 0) {
                line += strcspn(line, ":\n");
                if (*line != ':')
                        break;
                line++;
                index--;
        }

        *ret = line;
        return index > 0 ? 0 : strcspn(line, ":\n");
}

static bool line_matches(const char *line, unsigned index, const char *value) {
        const char *field;
        size_t n;

        n = line_field(line, index, &field);
        return n > 0 && n == strlen(value) && memcmp(field, value, n) == 0;
}

static const char *line_next(const char *line) {
        line += strcspn(line, "\n");
        return *line == '\n' ? line + 1 : line;
}

char *account_file_field(const char *text, unsigned key, const char *value, unsigned index) {
        for (const char *line = text; *line; line = line_next(line))
                if (line_matches(line, key, value)) {
                        const char *field;
                        size_t n;

                        n = line_field(line, index, &field);
                        return strndup(field, n);
                }

        return NULL;
}

char *account_file_insert(const char *text, const char *name, const char *id, const char *line) {
        const char *at;
        char *s;

        for (at = text; *at; at = line_next(at))
                if (line_matches(at, FIELD_ID, id) || line_matches(at, FIELD_NAME, name) || *at == '+' ||
                                *at == '-')
                        break;

        if (asprintf_to(&s, "%.*s%s%s\n%s", (int) (at - text), text, at > text && at[-1] != '\n' ? "\n" : "",
                            line, at) < 0)
                return NULL;

        return s;
}

static bool account_file_has(
                const char *text, unsigned key, const char *value, unsigned index, const char *expected) {
        _cleanup_free_ char *field = account_file_field(text, key, value, index);

        return field && streq(field, expected);
}

/* In place: the file may be a mount, which cannot be renamed over, and nobody else runs yet. */
static int account_file_write(const char *path, const char *text) {
        _cleanup_close_ int fd = -EBADF;

        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0)
                return -errno;

        return io_write_all(fd, text, strlen(text));
}

/* A missing file is an empty one, in which root comes first. */
static int account_file_read(const char *path, const char *if_missing, char **ret) {
        _cleanup_close_ int fd = -EBADF;

        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
                if (errno != ENOENT)
                        return -errno;

                *ret = strdup(if_missing);
                return *ret ? 0 : -ENOMEM;
        }

        return io_read_all(fd, ACCOUNT_FILE_MAX, ret, NULL);
}

static int passwd_prepare(char **ret_shell) {
        static const char path[] = "/etc/passwd";
        _cleanup_free_ char *text = NULL, *changed = NULL, *shell = NULL, *line = NULL;
        int r;

        r = account_file_read(path, "root:*:0:0:root:/root:/bin/sh\n", &text);
        if (r < 0)
                return r;

        shell = account_file_field(text, FIELD_ID, ID, PASSWD_FIELD_SHELL);
        if (str_is_empty(shell) || access(shell, X_OK) < 0) {
                r = strdup_to(&shell, access("/bin/bash", X_OK) >= 0 ? "/bin/bash" : "/bin/sh");
                if (r < 0)
                        return r;
        }

        if (!account_file_has(text, FIELD_ID, ID, FIELD_NAME, GUEST_USER) ||
                        !account_file_has(text, FIELD_ID, ID, PASSWD_FIELD_HOME, GUEST_HOME) ||
                        !account_file_has(text, FIELD_NAME, GUEST_USER, FIELD_ID, ID)) {
                r = asprintf_to(&line, "%s:*:%s:%s::%s:%s", GUEST_USER, ID, ID, GUEST_HOME, shell);
                if (r < 0)
                        return r;

                changed = account_file_insert(text, GUEST_USER, ID, line);
                if (!changed)
                        return -ENOMEM;
        }

        *ret_shell = TAKE_PTR(shell);
        return changed ? account_file_write(path, changed) : 0;
}

static int group_prepare(void) {
        static const char path[] = "/etc/group";
        _cleanup_free_ char *text = NULL, *name = NULL, *changed = NULL;
        int r;

        r = account_file_read(path, "root:x:0:\n", &text);
        if (r < 0)
                return r;

        name = account_file_field(text, FIELD_ID, ID, FIELD_NAME);
        if (name)
                return 0;

        changed = account_file_insert(text, GUEST_USER, ID, GUEST_USER ":x:" ID ":");
        return changed ? account_file_write(path, changed) : -ENOMEM;
}

int user_prepare(char **ret_shell) {
        _cleanup_free_ char *shell = NULL;
        int r;

        r = passwd_prepare(&shell);
        if (r < 0)
                (void) log_error(r, "Cannot enter user %s in /etc/passwd", GUEST_USER);

        r = group_prepare();
        if (r < 0)
                (void) log_error(r, "Cannot enter group %s in /etc/group", GUEST_USER);

        if (!shell)
                shell = strdup("/bin/sh");
        *ret_shell = TAKE_PTR(shell);
        return *ret_shell ? 0 : -ENOMEM;
}
