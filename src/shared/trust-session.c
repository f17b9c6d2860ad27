/* SPDX-License-Identifier: MIT */

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/launch-dir.h"
#include "shared/mkdir.h"
#include "shared/replace-file.h"
#include "shared/trust-session.h"

#define LEFT_FILE_MAX (64 * KIB)
#define LEFT_FILES_MAX 1000

#define OPEN_SUFFIX ".open"
#define REPORT_SUFFIX ".report"

DEFINE_CLEANUP(DIR *, closedir);

static int left_path(const Dirs *dirs, const char *profile, char **ret) {
        return asprintf_to(ret, "%s/profiles/%s/unreported", dirs->data, profile);
}

/* The directory of what is unreported. */
static int left_open(const TrustSession *s) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = left_path(s->dirs, s->profile, &path);
        return r < 0 ? r : mkdir_open(path);
}

static int left_write(const TrustSession *s, const char *suffix, const char *text, size_t n) {
        _cleanup_free_ char *name = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        fd = left_open(s);
        r = fd < 0 ? fd : asprintf_to(&name, "%s%s", s->id, suffix);
        return r < 0 ? r : replace_file_at(fd, name, 0600, text, n);
}

int trust_session_begin(const TrustSession *s, const TrustScope *scope, const TreeScan *tree) {
        _cleanup_trust_snapshot_ TrustSnapshot before = { 0 };
        int r;

        r = trust_snapshot_take(scope, tree, NULL, &before);
        if (r >= 0)
                r = trust_scope_write(s->dir_fd, scope);
        if (r >= 0)
                r = trust_snapshot_write(s->dir_fd, &before);
        if (r >= 0)
                r = left_write(s, OPEN_SUFFIX, scope->directory, strlen(scope->directory));

        return r;
}

int trust_session_compare(const TrustSession *s, TrustChanges *ret) {
        _cleanup_trust_snapshot_ TrustSnapshot before = { 0 }, after = { 0 };
        _cleanup_trust_scope_ TrustScope scope = { 0 };
        int r;

        r = trust_snapshot_read(s->dir_fd, &before);
        if (r >= 0)
                r = trust_scope_read(s->dir_fd, &scope);
        if (r < 0)
                return r;

        r = trust_snapshot_take(&scope, NULL, &before, &after);
        if (r >= 0)
                r = trust_changes_find(&scope, &before, &after, ret);
        if (r < 0)
                return r == -ENOENT ? -ENOTDIR : r; /* it began, and now its directories are gone */

        trust_changes_to_journal(ret, s->profile, s->id);
        return 0;
}

void trust_session_end(const TrustSession *s) {
        _cleanup_free_ char *name = NULL;
        _cleanup_close_ int fd = -EBADF;

        fd = left_open(s);
        if (fd >= 0 && asprintf_to(&name, "%s" OPEN_SUFFIX, s->id) >= 0)
                (void) unlinkat(fd, name, 0);
}

int trust_session_keep(const TrustSession *s, int error, const TrustChanges *c) {
        _cleanup_free_ char *text = NULL, *directory = NULL, *shown = NULL;
        size_t n = 0;
        FILE *f;

        (void) io_read_file_at(s->dir_fd, LAUNCH_FILE_DIRECTORY, PATH_MAX, &directory, NULL);
        shown = str_escape(directory ?: "?");
        f = open_memstream(&text, &n);
        if (!f)
                return -ENOMEM;

        (void) fprintf(f, "Launch %s in %s ended, and nobody saw its report:\n", s->id, shown ?: "?");
        if (error < 0)
                (void) fprintf(f, "  what it changed could not be looked at (%s).\n", strerror(-error));
        trust_changes_print(c, s->id, false, f);
        if (fclose(f) != 0)
                return -ENOMEM;

        return left_write(s, REPORT_SUFFIX, text, n);
}

int trust_session_leave(const TrustSession *s) {
        _cleanup_trust_changes_ TrustChanges c = { 0 };
        int r, k = 0;

        r = trust_session_compare(s, &c);
        if (r == -ENOENT) /* it died before there was a guest */
                r = 0;
        else if (r < 0 || c.n > 0)
                k = trust_session_keep(s, r, &c);
        if (k >= 0)
                trust_session_end(s); /* else the mark tells of it */

        return r < 0 ? r : k;
}

/* Nobody but us writes there; but a terminal shows it. */
static void print_text(const char *text, bool colour, FILE *f) {
        const char *bold = colour ? "\x1b[1m" : "", *reset = colour ? "\x1b[0m" : "";

        while (*text) {
                const size_t n = strcspn(text, "\n");
                _cleanup_free_ char *line = str_escape_n(text, n, LEFT_FILE_MAX);

                (void) fprintf(f, "%s%s%s\n", *text == ' ' ? "" : bold, line ?: "?", *text == ' ' ? "" : reset);
                text += n + (text[n] == '\n');
        }
}

/* Whether its launcher lives, or the supervisor is still about to clear away. */
static bool is_going_on(const Dirs *dirs, const char *profile, const char *id) {
        _cleanup_free_ char *path = NULL;

        if (!dirs->runtime)
                return true; /* cannot be told here */

        return asprintf_to(&path, "%s/%s-%s", dirs->runtime, profile, id) < 0 || access(path, F_OK) >= 0;
}

static void show_file(const Dirs *dirs, const char *profile, int fd, const char *name, bool colour, FILE *f) {
        _cleanup_free_ char *id = strndup(name, strcspn(name, ".")), *text = NULL;
        const bool open = str_has_suffix(name, OPEN_SUFFIX);

        if (!id || (!open && !str_has_suffix(name, REPORT_SUFFIX)) || (open && is_going_on(dirs, profile, id)))
                return;
        if (io_read_file_at(fd, name, LEFT_FILE_MAX, &text, NULL) < 0)
                return;

        if (open) {
                _cleanup_free_ char *shown = str_escape(text);

                (void) fprintf(f, "An earlier session of profile %s (launch %s in %s) ended without a report: what it changed of\n"
                                "that which the host will run or obey is not known.\n", profile, id, shown ?: "?");
        } else
                print_text(text, colour, f);
        (void) unlinkat(fd, name, 0);
}

static int compare_names(const void *a, const void *b) {
        return strcmp(*(char *const *) a, *(char *const *) b);
}

static int list_names(int fd, char ***ret) {
        _cleanup_(closedirp) DIR *d = NULL;
        struct dirent *de;
        size_t n = 0;
        int copy;

        copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        d = copy < 0 ? NULL : fdopendir(copy);
        if (!d) {
                int r = -errno;

                fd_close(copy);
                return r;
        }

        while ((de = readdir(d)) && n++ < LEFT_FILES_MAX)
                if (de->d_name[0] != '.' && strv_add(ret, de->d_name) < 0)
                        return -ENOMEM;

        return 0;
}

void trust_session_show_left(const Dirs *dirs, const char *profile, bool colour, FILE *f) {
        _cleanup_strv_ char **names = NULL;
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -EBADF;

        if (left_path(dirs, profile, &path) < 0)
                return;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 || list_names(fd, &names) < 0 || !names)
                return;

        qsort(names, strv_length(names), sizeof(char *), compare_names);
        STRV_FOREACH(name, names)
                show_file(dirs, profile, fd, *name, colour, f);
}
