/* SPDX-License-Identifier: MIT */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/manifest.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define CGROUP "/user.slice/user@1000.service/claude.slice/claude-sandbox-work-89abcdef.scope"
#define SERVICE(name, path) "{\"name\":\"" name "\",\"path\":\"" path "\"}"
#define MANIFEST(profile, id, cgroup, token, services) \
        "{\"profile\":\"" profile "\",\"id\":\"" id "\",\"cgroup\":\"" cgroup "\",\"token\":\"" token \
        "\",\"services\":" services "}"

#define WITH_KEYS(keys) \
        "{\"ssh-keys\":" keys ",\"profile\":\"work\",\"id\":\"89abcdef\",\"cgroup\":\"" CGROUP \
        "\",\"token\":\"" TOKEN "\",\"services\":[]}"

static void test_there_and_back(void **state) {
        char *keys[] = { (char *) "SHA256:JMMsdgMJzoHwQGGuf6CwL9k8ZSsw+pE3HGcpoMBIgY0",
                (char *) "\"ü\" \x1b*", NULL };
        ManifestService services[] = {
                { .id = { .kind = SERVICE_SSH, .index = 3 },
                                .path = (char *) "/run/user/1000/with \"quotes\" \n ü" },
                { .id = { .kind = SERVICE_GPG }, .path = (char *) "/run/user/1000/gnupg/S.gpg-agent.extra" },
                { .id = { .kind = SERVICE_CLIPBOARD } },
                { .id = { .kind = SERVICE_OPEN } },
                { .id = { .kind = SERVICE_CHROME }, .path = (char *) "/tmp/claude-mcp-browser-bridge-u" },
        };
        const Manifest in = {
                .profile = (char *) "work",
                .id = (char *) "89abcdef",
                .cgroup = (char *) CGROUP,
                .token = TOKEN,
                .services = services,
                .n_services = ELEMENTSOF(services),
                .ssh_keys = keys,
        };
        _cleanup_manifest_ Manifest *out = NULL;
        _cleanup_free_ char *text = NULL, *error = NULL;

        assert_int_equal(manifest_format(&in, &text), 0);
        assert_int_equal(manifest_parse(text, strlen(text), &out, &error), 0);
        assert_string_equal(out->profile, in.profile);
        assert_string_equal(out->id, in.id);
        assert_string_equal(out->cgroup, in.cgroup);
        assert_string_equal(out->token, in.token);
        assert_int_equal(out->n_services, in.n_services);
        for (size_t i = 0; i < in.n_services; i++) {
                assert_int_equal(out->services[i].id.kind, in.services[i].id.kind);
                assert_int_equal(out->services[i].id.index, in.services[i].id.index);
                assert_int_equal(!out->services[i].path, !in.services[i].path);
                if (in.services[i].path)
                        assert_string_equal(out->services[i].path, in.services[i].path);
        }
        assert_int_equal(strv_length(out->ssh_keys), 2);
        for (size_t i = 0; i < 2; i++)
                assert_string_equal(out->ssh_keys[i], keys[i]);
}

static void expect_refused(const char *text, size_t n) {
        _cleanup_manifest_ Manifest *m = NULL;
        _cleanup_free_ char *error = NULL;

        if (manifest_parse(text, n, &m, &error) != -EBADMSG)
                fail_msg("accepted: %.*s", (int) n, text);
        assert_non_null(error);
        assert_true(str_has_suffix(error, "."));
        /* What went wrong is said without the token. */
        assert_null(strstr(error, "0123456789abcdef"));
}

static void test_refused(void **state) {
        static const char *const rows[] = {
                "",
                "nonsense",
                "[]",
                "{}",
                "{",
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[]") " trailing",
                MANIFEST("", "89abcdef", CGROUP, TOKEN, "[]"),
                MANIFEST("../work", "89abcdef", CGROUP, TOKEN, "[]"),
                MANIFEST("work", "89ABCDEF", CGROUP, TOKEN, "[]"),
                MANIFEST("work", "89abcde", CGROUP, TOKEN, "[]"),
                MANIFEST("work", "89abcdef", "/", TOKEN, "[]"),
                MANIFEST("work", "89abcdef", "/user.slice", TOKEN, "[]"),
                MANIFEST("work", "89abcdef", "/claude-sandbox-other-89abcdef.scope", TOKEN, "[]"),
                MANIFEST("work", "89abcdef", "claude-sandbox-work-89abcdef.scope", TOKEN, "[]"),
                MANIFEST("work", "89abcdef", "/../claude-sandbox-work-89abcdef.scope", TOKEN, "[]"),
                MANIFEST("work", "89abcdef", CGROUP, "", "[]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN "0", "[]"),
                MANIFEST("work", "89abcdef", CGROUP, "X" TOKEN, "[]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "{}"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "null"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[1]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[{}]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[{\"name\":\"gpg\"}]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[{\"name\":\"chrome\"}]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[" SERVICE("clipboard", "/a") "]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[" SERVICE("open", "/a") "]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[{\"name\":\"open\",\"path\":1}]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[{\"name\":\"open\"},{\"name\":\"open\"}]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[" SERVICE("gpg", "relative") "]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[" SERVICE("gpg", "/a\\u0000b") "]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[" SERVICE("ssh-9", "/a") "]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN,
                                "[" SERVICE("gpg", "/a") "," SERVICE("gpg", "/b") "]"),
                MANIFEST("work", "89abcdef", CGROUP, TOKEN,
                                "[{\"name\":\"gpg\",\"path\":\"/a\",\"more\":1}]"),
                "{\"profile\":\"work\",\"id\":\"89abcdef\",\"cgroup\":\"" CGROUP "\",\"token\":\"" TOKEN
                "\"}",
                "{\"profile\":1,\"id\":\"89abcdef\",\"cgroup\":\"" CGROUP "\",\"token\":\"" TOKEN
                "\",\"services\":[]}",
                "{\"what\":1,\"profile\":\"work\",\"id\":\"89abcdef\",\"cgroup\":\"" CGROUP
                "\",\"token\":\"" TOKEN "\",\"services\":[]}",
                WITH_KEYS("[]"),
                WITH_KEYS("null"),
                WITH_KEYS("{}"),
                WITH_KEYS("\"work\""),
                WITH_KEYS("[1]"),
                WITH_KEYS("[\"work\",null]"),
                WITH_KEYS("[\"\"]"),
                WITH_KEYS("[\"SHA256:abc\"]"),
                WITH_KEYS("[\"a\\u0000b\"]"),
                WITH_KEYS("[[\"work\"]]"),
        };
        char path[200], text[1024];

        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                expect_refused(rows[i], strlen(rows[i]));

        /* One character more than a socket's address takes. */
        memset(path, 'x', sizeof(path));
        path[0] = '/';
        path[108] = '\0';
        (void) snprintf(text, sizeof(text),
                        MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[" SERVICE("gpg", "%s") "]"), path);
        expect_refused(text, strlen(text));
}

static void test_shortest_and_cut_off(void **state) {
        static const char text[] = MANIFEST("work", "89abcdef", CGROUP, TOKEN, "[]");
        _cleanup_manifest_ Manifest *m = NULL;
        _cleanup_free_ char *error = NULL;

        for (size_t n = 0; n < sizeof(text) - 1; n++)
                expect_refused(text, n);

        assert_int_equal(manifest_parse(text, sizeof(text) - 1, &m, &error), 0);
        assert_int_equal(m->n_services, 0);
        assert_null(m->ssh_keys);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_shortest_and_cut_off),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
