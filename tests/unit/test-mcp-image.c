/* SPDX-License-Identifier: MIT */

/* Which image `podman run` and `docker run` would run. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "basic/str.h"
#include "launch/mcp-image.h"

#define A(s) ((char *) (s))
#define PODMAN(...) "podman", { __VA_ARGS__ }
#define RUN(...) PODMAN(A("run"), __VA_ARGS__)

static void test_rows(void **state) {
        static const struct {
                const char *program;
                char *args[16];
                const char *image;
        } rows[] = {
                { RUN(A("img")), "img" },
                { RUN(A("-i"), A("--rm"), A("registry.example/a/b:1.2"), A("--flag"), A("x")), "registry.example/a/b:1.2" },
                { RUN(A("--rm"), A("img@sha256:abc")), "img@sha256:abc" },
                { "docker", { A("run"), A("-i"), A("img") }, "img" },
                { "/usr/bin/docker", { A("run"), A("img") }, "img" },
                { PODMAN(A("container"), A("run"), A("img")), "img" },
                /* Options before the command. */
                { PODMAN(A("--log-level"), A("debug"), A("run"), A("img")), "img" },
                { PODMAN(A("--log-level=debug"), A("--remote"), A("run"), A("img")), "img" },
                { PODMAN(A("-r"), A("run"), A("img")), "img" },
                { PODMAN(A("-c"), A("run"), A("run"), A("img")), "img" }, /* a connection by that name */
                { "docker", { A("-H"), A("tcp://h:1"), A("-D"), A("run"), A("img") }, "img" },
                /* A variable's value looks like an image, an address, an option. */
                { RUN(A("-e"), A("URL=https://h/x"), A("img")), "img" },
                { RUN(A("-e"), A("TOKEN"), A("--env"), A("A=b"), A("--env=C=d"), A("img")), "img" },
                { RUN(A("-eTOKEN"), A("-eA=b"), A("img")), "img" },
                { RUN(A("-e=TOKEN"), A("img")), "img" },
                { RUN(A("-e"), A("--rm"), A("img")), "img" },
                { RUN(A("--env"), A("--"), A("img")), "img" },
                { RUN(A("-e"), A(""), A("img")), "img" },
                /* Letters in one word. */
                { RUN(A("-it"), A("img")), "img" },
                { RUN(A("-itd"), A("--init"), A("img")), "img" },
                { RUN(A("-ite"), A("TOKEN"), A("img")), "img" },
                { RUN(A("-iteTOKEN"), A("img")), "img" },
                { RUN(A("-itv/a:/b"), A("img")), "img" },
                { RUN(A("-ti"), A("-p"), A("8080:80"), A("-v"), A("/a:/b:ro,z"), A("-w"), A("/w"), A("-u"), A("1:1"), A("img")), "img" },
                { RUN(A("-h"), A("host"), A("-l"), A("a=b"), A("-m"), A("1g"), A("img")), "img" },
                /* Words of their own. */
                { RUN(A("--mount"), A("type=bind,src=/a,dst=/b"), A("--network"), A("host"), A("--name"), A("x"), A("img")), "img" },
                { RUN(A("--tmpfs=/t"), A("--read-only"), A("--privileged"), A("--tty"), A("--interactive=true"), A("img")), "img" },
                { RUN(A("--entrypoint"), A("sh"), A("img"), A("-c"), A("podman run other")), "img" },
                { RUN(A("--pull"), A("always"), A("--platform"), A("linux/amd64"), A("--security-opt"), A("label=disable"), A("img")), "img" },
                { RUN(A("--an-option-of-tomorrow"), A("value"), A("img")), "img" },
                { RUN(A("--rm"), A("--"), A("img"), A("-x")), "img" },
                /* What says no image. */
                { RUN(NULL), NULL },
                { RUN(A("--rm")), NULL },
                { RUN(A("-e")), NULL },
                { RUN(A("--")), NULL },
                { RUN(A("-e"), A("img")), NULL },
                { RUN(A("--rootfs"), A("/some/where")), NULL },
                { RUN(A("--rootfs"), A("tree")), NULL },
                { RUN(A("${IMAGE}")), NULL },
                { RUN(A("")), NULL },
                { RUN(A("-")), NULL },
                { RUN(A("a b")), NULL },
                { RUN(A("img\n")), NULL },
                { RUN(A("\x1b[2J")), NULL },
                { RUN(A("/etc/passwd")), NULL },
                { RUN(A("./dir")), NULL },
                /* Other commands, other programs. */
                { PODMAN(A("exec"), A("-i"), A("c"), A("run"), A("img")), NULL },
                { PODMAN(A("container"), A("exec"), A("run"), A("img")), NULL },
                { PODMAN(A("images")), NULL },
                { PODMAN(NULL), NULL },
                { "npx", { A("run"), A("img") }, NULL },
                { "podman-compose", { A("run"), A("img") }, NULL },
                { "", { A("run"), A("img") }, NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *image = mcp_image_of(rows[i].program, rows[i].args);

                if (!image != !rows[i].image || (image && !streq(image, rows[i].image)))
                        fail_msg("row %zu: %s, not %s", i, image ?: "none", rows[i].image ?: "none");
        }

        assert_null(mcp_image_of("podman", NULL));
}

static void test_names(void **state) {
        static const struct {
                const char *name;
                bool valid;
        } rows[] = {
                { "img", true }, { "localhost/a_b/c-d:1.2", true }, { "h:5000/a@sha256:0123", true }, { "oci-archive:rel/file.tar", true },
                { "", false }, { "-img", false }, { ".img", false }, { "/img", false }, { "a b", false }, { "a$b", false }, { "a;b", false },
                { "a\x80", false }, { "a\tb", false },
        };
        char longest[514];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                if (mcp_image_is_valid(rows[i].name) != rows[i].valid)
                        fail_msg("row %zu: %s", i, rows[i].name);

        memset(longest, 'a', sizeof(longest));
        longest[513] = '\0';
        assert_false(mcp_image_is_valid(longest));
        longest[512] = '\0';
        assert_true(mcp_image_is_valid(longest));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
