/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "config.h"
#include "launch/anchors.h"
#include "launch/image-build.h"
#include "launch/verbs.h"

/* A file that podman reads once and that is removed again; what is in it is no secret. */
typedef struct AnchorsFile {
        char *path; /* NULL: no file */
        int fd;
} AnchorsFile;

static void anchors_file_remove(AnchorsFile *f) {
        if (f->path)
                (void) unlink(f->path);
        free(f->path);
        fd_close(f->fd);
}
#define _cleanup_anchors_file_ _cleanup_(anchors_file_remove)

static int anchors_file_create(const Dirs *dirs, AnchorsFile *ret) {
        const char *dir = dirs->runtime_root ?: secure_getenv("TMPDIR") ?: "/tmp";
        _cleanup_free_ char *path = NULL;
        int r;

        r = asprintf_to(&path, "%s/claude-profile-anchors-XXXXXX", dir);
        if (r < 0)
                return r;
        ret->fd = mkostemp(path, O_CLOEXEC);
        if (ret->fd < 0)
                return -errno;

        ret->path = TAKE_PTR(path);
        return 0;
}

/* Leaves `f` without a path when the host has no authorities of its own. */
static int collect_anchors(const Dirs *dirs, AnchorsFile *f) {
        _cleanup_strv_ char **skipped = NULL;
        int r, n;

        r = anchors_file_create(dirs, f);
        if (r < 0)
                return log_error(r, "Cannot create a file for the host's certificate authorities");

        n = anchors_append_host(f->fd, &skipped);
        if (n < 0)
                return log_error(n, "Cannot collect the host's certificate authorities in %s", f->path);
        STRV_FOREACH(s, skipped) {
                _cleanup_free_ char *shown = str_escape(*s);

                log_warning("%s is no certificate in PEM form; the build will not trust it.", shown ?: "?");
        }

        if (n == 0) {
                anchors_file_remove(f);
                *f = (AnchorsFile) { .fd = -EBADF };
        }
        return 0;
}

static int run(const Command *c) {
        _cleanup_anchors_file_ AnchorsFile anchors = { .fd = -EBADF };
        const char *base = command_value(c, "base") ?: "fedora";
        ImageBuild b = {
                .podman = c->settings->podman_bin,
                .context = PKGDATADIR "/image",
                .tag = c->settings->image,
                .base = image_base_from_string(base),
                .args = c->args,
        };
        int r, status;

        if (b.base < 0)
                return usage_error(c->verb, "--base is \"fedora\" or \"debian\"");
        if (access(b.context, R_OK | X_OK) < 0)
                return log_error(-errno,
                                "The build context %s, which is installed with claude-profile, cannot be "
                                "read",
                                b.context);

        r = collect_anchors(c->dirs, &anchors);
        if (r < 0)
                return r;

        b.anchors = anchors.path;
        r = image_build_run(&b, &status);
        if (r < 0)
                return log_error(r, "Cannot run %s to build the image", b.podman);

        return status;
}

static const Option options[] = {
        { 0, "base", "DISTRIBUTION", "What to build on: fedora (the default) or debian" },
        {},
};

const Verb verb_build = {
        .name = "build",
        .arguments = "[PODMAN OPTION…]",
        .min = 0,
        .max = ANY_NUMBER,
        .flags = VERB_FOREIGN_OPTIONS,
        .options = options,
        .help = "Build the image that sandboxes start from",
        .details = "Certificate authorities that were added to this host are trusted during the build, and "
                   "are not "
                   "left in the image. Options that are not listed here, and all behind them, go to podman "
                   "build: "
                   "--no-cache, say, to get a newer claude.",
        .run = run,
};
