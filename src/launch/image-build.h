/* SPDX-License-Identifier: MIT */
#pragma once

/* Building the sandbox's image: podman build with the installed build context. */

#include "basic/macro.h"

typedef enum ImageBase {
        IMAGE_BASE_FEDORA,
        IMAGE_BASE_DEBIAN,
        _IMAGE_BASE_MAX,
        _IMAGE_BASE_INVALID = -EINVAL,
} ImageBase;

/* "fedora" or "debian"; anything else is _IMAGE_BASE_INVALID. */
ImageBase image_base_from_string(const char *s);
const char *image_base_to_string(ImageBase base);

typedef struct ImageBuild {
        const char *podman;
        const char *context; /* the directory with the Containerfiles */
        const char *tag;
        ImageBase base;
        const char *anchors; /* a file with the host's own certificate authorities; NULL: none */
        char *const *args;   /* the user's, for podman build */
} ImageBuild;

/* podman's command line. 0 or -ENOMEM. */
int image_build_command(const ImageBuild *b, char ***ret);

/* Runs it as foreground_run() does. */
int image_build_run(const ImageBuild *b, int *ret_status);
