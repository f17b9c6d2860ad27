/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "launch/foreground.h"
#include "launch/image-store.h"
#include "launch/mcp-servers.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/mkdir.h"
#include "shared/rm-rf.h"

static int remove_below(const char *dir, const char *name) {
        _cleanup_close_ int fd = -EBADF;

        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;

        return rm_rf_at(fd, name);
}

static int clear(const Command *c, const char *store) {
        int r;

        r = remove_below(c->dirs->data, path_last(store));
        if (r < 0)
                return log_error(r, "Cannot remove %s", store);

        (void) printf("%s is empty.\n", store);
        return 0;
}

/* podman says itself what it does. Returns how many could not be pulled, or negative errno. */
static int pull_all(const Command *c, const char *store, const char *run, char *const *images) {
        int failed = 0;

        STRV_FOREACH(image, images) {
                _cleanup_strv_ char **argv = NULL;
                int r, status;

                (void) printf("%s\n", *image);
                (void) fflush(stdout);
                r = image_store_pull_command(c->settings->podman_bin, store, run, *image, &argv);
                if (r < 0)
                        return log_oom();
                r = foreground_run(argv, &status);
                if (r < 0)
                        return log_error(r, "Cannot run %s to pull an image", c->settings->podman_bin);
                if (status >= 128)
                        return log_error(-EINTR, "Interrupted.");
                failed += status != 0;
        }

        return failed;
}

static int fill(const Command *c, const Profile *p, const char *store) {
        const char *place = c->dirs->runtime_root ?: c->dirs->data;
        _cleanup_strv_ char **images = NULL;
        _cleanup_free_ char *directory = NULL, *run = NULL;
        _cleanup_close_ int fd = -EBADF;
        int r;

        directory = getcwd(NULL, 0);
        if (!directory)
                return log_error(-errno, "Cannot find out the working directory");
        r = mcp_images_collect(p, directory, &images);
        if (r < 0)
                return r;
        if (!images) {
                (void) printf("No MCP server of profile %s, nor of %s and above, is podman run or docker run.\n", p->name, directory);
                return 0;
        }
        if (access(FUSE_OVERLAYFS, X_OK) < 0)
                return log_error(-errno, "The images' files can only be given to sandboxes with " FUSE_OVERLAYFS ". Install fuse-overlayfs.");

        r = asprintf_to(&run, "%s/claude-profile-image-store", place);
        if (r < 0)
                return log_oom();
        fd = mkdir_open(store);
        if (fd < 0)
                return log_error(fd, "Cannot make %s", store);

        r = pull_all(c, store, run, images);
        (void) remove_below(place, path_last(run));
        if (r < 0)
                return r;
        if (r > 0)
                return log_error(-EIO, "%d of %zu images could not be pulled.", r, strv_length(images));

        (void) printf("Sandboxes find %zu image%s in %s.\n", strv_length(images), strv_length(images) == 1 ? "" : "s", store);
        return 0;
}

static int run(const Command *c) {
        _cleanup_profile_ Profile *p = NULL;
        _cleanup_free_ char *store = NULL;
        int r;

        r = command_open_profile(c, &p);
        if (r < 0)
                return r;
        store = image_store_path(c->dirs);
        if (!store)
                return log_oom();

        return command_has(c, "clear") ? clear(c, store) : fill(c, p, store);
}

static const Option options[] = {
        { 0, "clear", NULL, "Remove all images from the store" },
        {},
};

const Verb verb_sandbox_cache = {
        .name = "sandbox-cache",
        .arguments = "NAME",
        .min = 1,
        .max = 1,
        .flags = VERB_PROFILE,
        .options = options,
        .help = "Pull the images of MCP servers for sandboxes",
        .details = "Those servers count that are podman run or docker run: of the profile, and in the .mcp.json of the working directory and "
                   "above. The store is one for all profiles, and sandboxes see it read-only. Again to update it.",
        .run = run,
};
