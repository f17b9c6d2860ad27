/* SPDX-License-Identifier: MIT */

/* The image store: mounted when it is filled, and how it is filled. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/image-store.h"
#include "scratch.h"
#include "launch-stage.h"

#define STORE "home/.local/share/claude-profile/image-store"

static size_t mounts_with(const char *images) {
        _cleanup_plan_ Plan *p = stage_plan();

        if (images)
                scratch_puts(STORE "/overlay-images/images.json", images);
        assert_int_equal(plan_images(p), 0);
        return p->n_mounts;
}

static void test_mounts(void **state) {
        _cleanup_plan_ Plan *p = stage_plan();

        assert_int_equal(mounts_with(NULL), 0);
        make_path(STORE "/overlay-images");
        assert_int_equal(mounts_with(NULL), 0);
        assert_int_equal(mounts_with(""), 0);
        assert_int_equal(mounts_with("[]\n"), 0);
        assert_int_equal(mounts_with("[{\"id\":\"x\"}]"), 2);

        assert_int_equal(plan_images(p), 0);
        assert_string_equal(p->mounts[0].source, in_scratch(STORE));
        assert_string_equal(p->mounts[0].target, "/opt/claude-host/image-store");
        assert_true(p->mounts[0].flags & MOUNT_READ_ONLY);
        assert_string_equal(p->mounts[1].target, "/etc/containers/storage.conf");
        assert_true(p->mounts[1].flags & MOUNT_READ_ONLY);
        assert_string_equal(p->files[0].name, "storage.conf");
        assert_non_null(strstr(p->files[0].data, "additionalimagestores = [\"/opt/claude-host/image-store\"]\n"));
        assert_non_null(strstr(p->files[0].data, "mount_program = \"/usr/bin/fuse-overlayfs\"\n"));
}

static void test_pull(void **state) {
        static const char *const expected[] = { "podman", "--root=/d/image-store", "--runroot=/r", "--storage-driver=overlay",
                "--storage-opt=overlay.mount_program=/usr/bin/fuse-overlayfs", "--storage-opt=overlay.force_mask=shared", "pull", "--", "img:1" };
        _cleanup_strv_ char **argv = NULL;

        assert_int_equal(image_store_pull_command("podman", "/d/image-store", "/r", "img:1", &argv), 0);
        assert_int_equal(strv_length(argv), ELEMENTSOF(expected));
        for (size_t i = 0; i < ELEMENTSOF(expected); i++)
                assert_string_equal(argv[i], expected[i]);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_mounts, stage_setup, stage_teardown),
                cmocka_unit_test(test_pull),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
