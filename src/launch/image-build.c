/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/foreground.h"
#include "launch/image-build.h"

static const struct {
        const char *name, *file;
} bases[] = {
        [IMAGE_BASE_FEDORA] = { "fedora", "Containerfile" },
        [IMAGE_BASE_DEBIAN] = { "debian", "Containerfile.debian" },
};
static_assert(ELEMENTSOF(bases) == _IMAGE_BASE_MAX, "a row for each base");

ImageBase image_base_from_string(const char *s) {
        for (ImageBase i = 0; i < _IMAGE_BASE_MAX; i++)
                if (streq(s, bases[i].name))
                        return i;

        return _IMAGE_BASE_INVALID;
}

const char *image_base_to_string(ImageBase base) {
        return base >= 0 && base < _IMAGE_BASE_MAX ? bases[base].name : NULL;
}

int image_build_command(const ImageBuild *b, char ***ret) {
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = strv_add_many(&argv, b->podman, "build", "--tag", b->tag, NULL);
        if (r >= 0)
                r = strv_addf(&argv, "--file=%s/%s", b->context, bases[b->base].file);
        if (r >= 0 && b->anchors)
                r = strv_addf(&argv, "--secret=id=anchors,src=%s", b->anchors);
        if (r >= 0)
                r = strv_extend(&argv, b->args);
        if (r >= 0)
                r = strv_add(&argv, b->context);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(argv);
        return 0;
}

int image_build_run(const ImageBuild *b, int *ret_status) {
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = image_build_command(b, &argv);
        return r < 0 ? r : foreground_run(argv, ret_status);
}
