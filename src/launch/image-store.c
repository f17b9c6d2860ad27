/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/path.h"
#include "basic/strv.h"
#include "basic/wire.h"
#include "launch/image-store.h"

const char image_store_configuration[] =
        "# Made by claude-profile for this sandbox.\n"
        "[storage]\n"
        "driver = \"overlay\"\n"
        "runroot = \"/run/containers/storage\"\n"
        "graphroot = \"/var/lib/containers/storage\"\n"
        "[storage.options]\n"
        "additionalimagestores = [\"" GUEST_IMAGE_STORE "\"]\n"
        "[storage.options.overlay]\n"
        "mount_program = \"" FUSE_OVERLAYFS "\"\n";

char *image_store_path(const Dirs *dirs) {
        return path_join(dirs->data, "image-store");
}

bool image_store_is_filled(const char *store) {
        _cleanup_free_ char *path = path_join(store, "overlay-images/images.json");
        struct stat st;

        return path && lstat(path, &st) >= 0 && S_ISREG(st.st_mode) && (size_t) st.st_size > STRLEN("[]\n");
}

int image_store_pull_command(const char *podman, const char *store, const char *run, const char *image, char ***ret) {
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = strv_add(&argv, podman);
        if (r >= 0)
                r = strv_addf(&argv, "--root=%s", store);
        if (r >= 0)
                r = strv_addf(&argv, "--runroot=%s", run);
        if (r >= 0)
                r = strv_add_many(&argv, "--storage-driver=overlay", "--storage-opt=overlay.mount_program=" FUSE_OVERLAYFS,
                                "--storage-opt=overlay.force_mask=shared", "pull", "--", image, NULL);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}
