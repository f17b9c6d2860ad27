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

const TrustLayout trust_layouts[TRUST_LAYOUTS] = {
        { "/usr/local/share/ca-certificates", ".crt", "/etc/ssl/certs", "/etc/ssl/certs/ca-certificates.crt" },
        { "/etc/pki/ca-trust/source/anchors", NULL, "/etc/pki/ca-trust/extracted", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem" },
};

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

/* The next file of the tree that counts, or NULL. */
static FTSENT *next_file(FTS *tree, const char *suffix) {
        FTSENT *e;

        do
                e = fts_read(tree);
        while (e && (e->fts_info != FTS_F || (suffix && !str_has_suffix(e->fts_name, suffix))));

        return e;
}

/* Links are followed, as update-ca-certificates(8) does. */
static FTS *open_tree(const char *dir) {
        char *const roots[] = { (char *) dir, NULL };

        return fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_names);
}

bool anchors_exist(const char *dir, const char *suffix) {
        FTS *tree;
        bool b;

        tree = open_tree(dir);
        if (!tree)
                return false;
        b = next_file(tree, suffix);
        (void) fts_close(tree);

        return b;
}

static int append_tree(FTS *tree, const char *suffix, int fd, char ***skipped) {
        int r, n = 0;

        for (FTSENT *e; (e = next_file(tree, suffix));) {
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
        FTS *tree;
        int r;

        tree = open_tree(dir);
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
        _cleanup_strv_ char **all = NULL;
        int n = 0;

        for (size_t i = 0; i < TRUST_LAYOUTS; i++) {
                _cleanup_strv_ char **skipped = NULL;
                int r;

                r = anchors_append(trust_layouts[i].anchors, trust_layouts[i].suffix, fd, &skipped);
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
