/* SPDX-License-Identifier: MIT */

/* The command line of podman inside. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/str.h"
#include "basic/strv.h"
#include "guest/podman.h"

#define A(s) ((char *) (s))
#define SUDO "sudo", "-n", "-E", "-H", "--"
#define STORAGE "--storage-driver=overlay", "--storage-opt=overlay.mount_program=/usr/bin/fuse-overlayfs"

static void test_rows(void **state) {
        static const struct {
                char *args[6];
                bool root, configured;
                const char *expected[16];
        } rows[] = {
                { { A("run"), A("-e"), A("TOKEN"), A("img") }, false, true, { SUDO, "/usr/bin/podman", "run", "-e", "TOKEN", "img" } },
                { { A("run"), A("img") }, false, false, { SUDO, "/usr/bin/podman", STORAGE, "run", "img" } },
                { { A("images") }, true, true, { "/usr/bin/podman", "images" } },
                { { A("ps"), A(""), A("a b") }, true, false, { "/usr/bin/podman", STORAGE, "ps", "", "a b" } },
                { { NULL }, false, true, { SUDO, "/usr/bin/podman" } },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_strv_ char **argv = NULL;
                size_t n = 0;

                assert_int_equal(podman_command(rows[i].args, rows[i].root, rows[i].configured, &argv), 0);
                for (; rows[i].expected[n]; n++) {
                        assert_true(n < strv_length(argv));
                        assert_string_equal(argv[n], rows[i].expected[n]);
                }
                assert_int_equal(strv_length(argv), n);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
