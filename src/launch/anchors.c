/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <fts.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/anchors.h"

#define ANCHOR_FILE_MAX MIB

static int compare_names(const FTSENT **a, const FTSENT **b) {
        return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Returns 1 when the file was written, 0 when it is no PEM certificate, or negative errno. */
static int append_file(const char *path, int out) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -EBADF;
        size_t n;
        int r;

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
                return -errno;
        r = io_read_all(fd, ANCHOR_FILE_MAX, &text, &n);
        if (r < 0)
                return r == -EFBIG ? 0 : r;
        if (!strstr(text, "-----BEGIN CERTIFICATE-----"))
                return 0;

        r = io_write_all(out, text, n);
        if (r >= 0 && text[n - 1] != '\n') /* else the next file's first line would be lost */
                r = io_write_all(out, "\n", 1);
        return r < 0 ? r : 1;
}

static int append_tree(FTS *tree, const char *suffix, int fd, char ***skipped) {
        int r, n = 0;

        for (FTSENT *e; (e = fts_read(tree));) {
                if (e->fts_info != FTS_F || (suffix && !str_has_suffix(e->fts_name, suffix)))
                        continue;

                r = append_file(e->fts_path, fd);
                if (r == 0)
                        r = strv_add(skipped, e->fts_path);
                else if (r > 0)
                        n++;
                if (r < 0)
                        return r;
        }

        return n;
}

int anchors_append(const char *dir, const char *suffix, int fd, char ***ret_skipped) {
        _cleanup_strv_ char **skipped = NULL;
        char *const roots[] = { (char *) dir, NULL };
        FTS *tree;
        int r;

        /* Links are followed, as update-ca-certificates(8) does. */
        tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
        if (!tree)
                return -errno;
        r = append_tree(tree, suffix, fd, &skipped);
        (void) fts_close(tree);
        if (r < 0)
                return r;

        *ret_skipped = TAKE_PTR(skipped);
        return r;
}

int anchors_append_host(int fd, char ***ret_skipped) {
        static const struct {
                const char *dir, *suffix;
        } places[] = {
                { "/usr/local/share/ca-certificates", ".crt" }, /* Debian */
                { "/etc/pki/ca-trust/source/anchors", NULL },   /* Fedora */
        };
        _cleanup_strv_ char **all = NULL;
        int n = 0;

        for (size_t i = 0; i < ELEMENTSOF(places); i++) {
                _cleanup_strv_ char **skipped = NULL;
                int r;

                r = anchors_append(places[i].dir, places[i].suffix, fd, &skipped);
                if (r < 0)
                        return r;
                n += r;
                r = strv_extend(&all, skipped);
                if (r < 0)
                        return r;
        }

        *ret_skipped = TAKE_PTR(all);
        return n;
}
