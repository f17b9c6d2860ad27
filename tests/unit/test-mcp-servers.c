/* SPDX-License-Identifier: MIT */

/* The servers' images: of the profile, of all its projects, of the directories above. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/mcp-servers.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

#define SERVER(name, image) "\"" name "\":{\"command\":\"podman\",\"args\":[\"run\",\"-i\",\"-e\",\"URL=https://h/x\",\"" image "\"]}"

static void assert_images(char *const *images, const char *expected) {
        char text[1024] = "";

        STRV_FOREACH(image, images)
                (void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", image == images ? "" : " ", *image);
        assert_string_equal(text, expected);
}

static void test_texts(void **state) {
        static const struct {
                const char *text, *images; /* NULL: no JSON object */
        } rows[] = {
                { "{}", "" },
                { "{\"mcpServers\":{" SERVER("a", "one") "," SERVER("b", "two") "}}", "one two" },
                { "\xef\xbb\xbf{\"mcpServers\":{" SERVER("a", "one") "}}\r\n", "one" },
                { "{\"mcpServers\":{" SERVER("a", "one") "," SERVER("b", "one") "}}", "one" },
                { "{\"mcpServers\":{" SERVER("a", "one") "},\"projects\":{\"/p\":{\"mcpServers\":{" SERVER("b", "two") "}},\"/q\":{\"mcpServers\":{"
                                SERVER("c", "three") "}},\"/r\":{}}}", "one two three" },
                { "{\"mcpServers\":{\"a\":{\"type\":\"http\",\"url\":\"https://h/x\"},\"b\":{\"command\":\"npx\",\"args\":[\"run\",\"x\"]},\"c\":7,"
                                "\"d\":{\"command\":\"podman\"},\"e\":{\"command\":[],\"args\":[]},\"f\":{\"command\":\"podman\",\"args\":{}}}}", "" },
                { "{\"mcpServers\":{\"a\":{\"command\":\"podman\",\"args\":[\"run\",7,\"img\"]}}}", "" },
                /* A NUL makes no other string. */
                { "{\"mcpServers\":{\"a\":{\"command\":\"podman\\u0000x\",\"args\":[\"run\",\"img\"]}}}", "" },
                { "{\"mcpServers\":{\"a\":{\"command\":\"podman\",\"args\":[\"run\",\"img\\u0000\"]}}}", "" },
                { "{\"mcpServers\":{" SERVER("a", "a b") "," SERVER("b", "--rm") "}}", "" },
                { "{\"mcpServers\":[]}", "" }, { "{\"mcpServers\":null,\"projects\":[]}", "" }, { "{\"projects\":{\"/p\":7}}", "" },
                { "[]", NULL }, { "", NULL }, { "{", NULL }, { "null", NULL },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_strv_ char **images = NULL;

                assert_int_equal(mcp_images_add(rows[i].text, strlen(rows[i].text), &images), rows[i].images ? 0 : -EBADMSG);
                assert_images(images, rows[i].images ?: "");
        }
}

/* However many somebody writes there. */
static void test_bound(void **state) {
        _cleanup_strv_ char **images = NULL;
        _cleanup_free_ char *text = malloc(MIB);
        size_t n;

        assert_non_null(text);
        n = (size_t) sprintf(text, "{\"mcpServers\":{");
        for (unsigned i = 0; i < 2000; i++)
                n += (size_t) sprintf(text + n, "%s\"s%u\":{\"command\":\"docker\",\"args\":[\"run\",\"image-%u\"]}", i > 0 ? "," : "", i, i);
        n += (size_t) sprintf(text + n, "}}");
        assert_int_equal(mcp_images_add(text, n, &images), 0);
        assert_int_equal(strv_length(images), MCP_IMAGES_MAX);
}

static void test_places(void **state) {
        _cleanup_strv_ char **images = NULL, **again = NULL;

        make_path("home/w/p/sub");
        scratch_puts("home/.claude-profiles/" STAGE_PROFILE "/.claude.json", "{\"mcpServers\":{" SERVER("a", "profile") "}}");
        scratch_puts("home/w/.mcp.json", "{\"mcpServers\":{" SERVER("a", "above") "}}");
        scratch_puts("home/w/p/.mcp.json", "{\"mcpServers\":{" SERVER("a", "here") "}}");
        scratch_puts("home/w/p/sub/.mcp.json", "{\"mcpServers\":{" SERVER("a", "below") "}}");
        assert_int_equal(mcp_images_collect(&stage.profile, in_scratch("home/w/p"), &images), 0);
        assert_images(images, "profile here above");

        /* What a guest made of them. */
        (void) unlink(in_scratch("home/.claude-profiles/" STAGE_PROFILE "/.claude.json"));
        scratch_puts("home/.claude-profiles/" STAGE_PROFILE "/.claude.json", "{");
        messages_begin();
        assert_int_equal(mcp_images_collect(&stage.profile, in_scratch("home/w"), &again), 0);
        assert_one_message(messages_end(), "is no JSON object");
        assert_images(again, "above");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_texts),
                cmocka_unit_test(test_bound),
                cmocka_unit_test_setup_teardown(test_places, stage_setup, stage_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
