/* SPDX-License-Identifier: MIT */

/* Which files count as certificate authorities of the host, and the command that builds the image with them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/anchors.h"
#include "launch/image-build.h"

#define PEM(name) "-----BEGIN CERTIFICATE-----\n" name "\n-----END CERTIFICATE-----"

static char *read_back(int fd) {
        char *text;

        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(io_read_all(fd, MIB, &text, NULL), 0);
        return text;
}

static void test_files(void **state) {
        _cleanup_strv_ char **skipped = NULL;
        _cleanup_free_ char *text = NULL;
        char dir[] = "/tmp/test-anchors-XXXXXX";
        _cleanup_close_ int dir_fd = -EBADF, out = -EBADF;

        assert_non_null(mkdtemp(dir));
        dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        out = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
        assert_true(dir_fd >= 0 && out >= 0);

        assert_int_equal(mkdirat(dir_fd, "sub", 0700), 0);
        assert_int_equal(io_write_new_at(dir_fd, "b.crt", 0600, PEM("B"), STRLEN(PEM("B"))), 0);
        assert_int_equal(io_write_new_at(dir_fd, "sub/c.crt", 0600, PEM("C") "\n", STRLEN(PEM("C") "\n")), 0);
        assert_int_equal(io_write_new_at(dir_fd, "a.crt", 0600, "\x30\x82\0DER", 6), 0);
        assert_int_equal(io_write_new_at(dir_fd, "empty.crt", 0600, "", 0), 0);
        assert_int_equal(io_write_new_at(dir_fd, "d.txt", 0600, PEM("D"), STRLEN(PEM("D"))), 0);
        assert_int_equal(symlinkat("d.txt", dir_fd, "link.crt"), 0);
        assert_int_equal(symlinkat("nowhere", dir_fd, "dangling.crt"), 0);

        assert_int_equal(anchors_append(dir, ".crt", out, &skipped), 3);
        text = read_back(out);
        assert_string_equal(text, PEM("B") "\n" PEM("D") "\n" PEM("C") "\n");
        assert_int_equal(strv_length(skipped), 2);
        assert_true(str_has_suffix(skipped[0], "/a.crt") && str_has_suffix(skipped[1], "/empty.crt"));

        for (const char **f = (const char *[]) { "b.crt", "sub/c.crt", "a.crt", "empty.crt", "d.txt", "link.crt",
                             "dangling.crt", NULL };
                        *f; f++)
                assert_int_equal(unlinkat(dir_fd, *f, 0), 0);
        assert_int_equal(unlinkat(dir_fd, "sub", AT_REMOVEDIR), 0);
        assert_int_equal(rmdir(dir), 0);
}

static void test_no_directory(void **state) {
        _cleanup_strv_ char **skipped = NULL;

        assert_int_equal(anchors_append("/nowhere/at all", NULL, -EBADF, &skipped), 0);
        assert_null(skipped);
}

static void test_command(void **state) {
        static const char *const want[] = { "podman", "build", "--tag", "img:1", "--file=/ctx/Containerfile.debian",
                "--secret=id=anchors,src=/run/a.pem", "--no-cache", "/ctx" };
        _cleanup_strv_ char **argv = NULL;
        char no_cache[] = "--no-cache";
        ImageBuild b = {
                .podman = "podman",
                .context = "/ctx",
                .tag = "img:1",
                .base = IMAGE_BASE_DEBIAN,
                .anchors = "/run/a.pem",
                .args = (char *[]) { no_cache, NULL },
        };

        assert_int_equal(image_build_command(&b, &argv), 0);
        assert_int_equal(strv_length(argv), ELEMENTSOF(want));
        for (size_t i = 0; i < ELEMENTSOF(want); i++)
                assert_string_equal(argv[i], want[i]);
}

static void test_base_names(void **state) {
        assert_int_equal(image_base_from_string("fedora"), IMAGE_BASE_FEDORA);
        assert_int_equal(image_base_from_string("debian"), IMAGE_BASE_DEBIAN);
        assert_int_equal(image_base_from_string("Debian"), _IMAGE_BASE_INVALID);
        assert_int_equal(image_base_from_string(""), _IMAGE_BASE_INVALID);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_no_directory),
                cmocka_unit_test(test_command),
                cmocka_unit_test(test_base_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
