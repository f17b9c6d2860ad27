/* SPDX-License-Identifier: MIT */

/* What claude's configuration says: texts and the facts in them; and which changes of a text are changes of a fact. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "scratch.h"
#include "shared/json-text.h"
#include "shared/trust-config.h"
#include "trust-stage.h"

static const TrustScope scope = { .work_root = (char *) "/work/repo", .directory = (char *) "/work/repo/sub", .profile = (char *) "/p" };

static void facts(const char *text, TrustSnapshot *ret) {
        assert_int_equal(trust_config_facts(text, strlen(text), "c", &scope, ret), 0);
        trust_snapshot_sort(ret);
}

static void test_facts(void **state) {
        static const struct {
                const char *text, *expected; /* paths, a line each */
        } rows[] = {
                { "{}", "" },
                { "{\"numStartups\": 3, \"projects\": {}, \"mcpServers\": {}}", "" },
                { "\xef\xbb\xbf{\"mcpServers\":{\"a\":{},\"b\":1}}", "c: MCP server a\nc: MCP server b\n" },
                { "{\"mcpServers\":[\"a\"],\"projects\":[1],\"env\":3,\"enabledMcpjsonServers\":{\"a\":1}}", "" },
                { "{\"projects\":{\"/x\":{\"mcpServers\":{\"a\":{}}}}}", "c: /x: MCP server a\n" },
                { "{\"projects\":{\"/x\":{\"enabledMcpjsonServers\":[\"a\",2,\"b\"],\"disabledMcpjsonServers\":[\"z\"]}}}",
                                "c: /x: approved: .mcp.json server a\nc: /x: approved: .mcp.json server b\n" },
                { "{\"enableAllProjectMcpServers\":true}", "c: approved: all .mcp.json servers\n" },
                { "{\"projects\":{\"/x\":{\"enableAllProjectMcpServers\":1}}}", "c: /x: approved: all .mcp.json servers\n" },
                { "{\"projects\":{\"/x\":{\"enableAllProjectMcpServers\":false},\"/y\":{\"enableAllProjectMcpServers\":null}}}", "" },
                /* The launch's own directories may become trusted: the guest asked, in there. */
                { "{\"projects\":{\"/work/repo\":{\"hasTrustDialogAccepted\":true},\"/work/repo/sub\":{\"hasTrustDialogAccepted\":true},"
                  "\"/work/repository\":{\"hasTrustDialogAccepted\":true},\"/y\":{\"hasTrustDialogAccepted\":false}}}",
                                "c: /work/repository: trusted\n" },
                { "{\"projects\":{\"/work/repo\":{\"mcpServers\":{\"a\":{}}}}}", "c: /work/repo: MCP server a\n" },
                { "{\"projects\":{\"/x\":{\"hasClaudeMdExternalIncludesApproved\":true,\"allowedTools\":[\"Bash(*)\"]}}}",
                                "c: /x: allowed tool Bash(*)\nc: /x: includes of CLAUDE.md approved\n" },
                { "{\"env\":{\"LD_PRELOAD\":\"/x\"},\"apiKeyHelper\":\"prog\"}", "c: apiKeyHelper\nc: variable LD_PRELOAD\n" },
                { "{\"env\":{},\"apiKeyHelper\":\"\"}", "" },
                /* Names of a key in other letters are that key; of two with a name, both count. */
                { "{\"mcp\\u0053ervers\":{\"a\":{}},\"mcpServers\":{\"b\":{}}}", "c: MCP server a\nc: MCP server b\n" },
                { "{\"mcpServers\":{\"e\\u001b[2J\\nx\\u0000y\":{}}}", "c: MCP server e\\x1b[2J\\x0ax\\x00y\n" },
                { "{\"projects\":{\"/work/repo\\u0000x\":{\"hasTrustDialogAccepted\":true}}}", "c: /work/repo\\x00x: trusted\n" },
                /* No JSON, or no object: the whole. */
                { "", "c\n" }, { "{", "c\n" }, { "[]", "c\n" }, { "{\"mcpServers\":{\"a\":{}},}", "c\n" }, { "// x\n{}", "c\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_trust_snapshot_ TrustSnapshot s = { 0 };
                _cleanup_free_ char *text = NULL;
                size_t n;
                FILE *f = open_memstream(&text, &n);

                assert_non_null(f);
                facts(rows[i].text, &s);
                for (size_t k = 0; k < s.n; k++)
                        (void) fprintf(f, "%s\n", s.items[k].path);
                assert_int_equal(fclose(f), 0);
                if (!streq(text, rows[i].expected))
                        fail_msg("%s: expected\n%sfound\n%s", rows[i].text, rows[i].expected, text);
        }
}

static void test_changes(void **state) {
        static const struct {
                const char *before, *after, *expected;
        } rows[] = {
                { "{\"mcpServers\":{\"a\":{\"x\":[1, 2]}}}", "{ \"mcpServers\" :\n{ \"a\": {\"x\": [1,2] } } }", "" },
                { "{\"mcpServers\":{\"a\":{\"x\":[1,2]}}}", "{\"mcpServers\":{\"a\":{\"x\":[12]}}}", "changed profile: c: MCP server a\n" },
                { "{\"mcpServers\":{\"a\":[[],1]}}", "{\"mcpServers\":{\"a\":[[1]]}}", "changed profile: c: MCP server a\n" },
                { "{\"mcpServers\":{\"a\":1}}", "{\"mcpServers\":{}}", "" },
                { "{\"mcpServers\":{\"a\":1}}", "{\"mcpServers\":{\"a\":1,\"b\":1}}", "new profile: c: MCP server b\n" },
                /* Behind one that was there, before it, as often as one likes. */
                { "{\"mcpServers\":{\"a\":1}}", "{\"mcpServers\":{\"a\":1,\"a\":2}}", "changed profile: c: MCP server a\n" },
                { "{\"mcpServers\":{\"a\":1}}", "{\"mcpServers\":{\"a\":2,\"a\":2,\"a\":1}}", "changed profile: c: MCP server a\n" },
                { "{\"mcpServers\":{\"a\":1}}", "{\"mcpServers\":{\"a\":1},\"mcpServers\":{\"a\":2}}", "changed profile: c: MCP server a\n" },
                { "{\"mcpServers\":{\"a\":1,\"a\":2}}", "{\"mcpServers\":{\"a\":2,\"a\":1}}", "" },
                { "{\"mcpServers\":{\"a\\\\x0a\":1}}", "{\"mcpServers\":{\"a\\\\x0a\":1,\"a\\n\":2}}", "changed profile: c: MCP server a\\x0a\n" },
                { "{\"projects\":{\"/a\":{}}}", "{\"projects\":{\"/a\":{\"enabledMcpjsonServers\":[\"x\",\"x\"]}}}",
                                "new profile: c: /a: approved: .mcp.json server x\n" },
                { "{\"env\":{\"A\":\"1\"}}", "{\"env\":{\"A\":\"2\"}}", "changed profile: c: variable A\n" },
                { "{}", "{", "new profile: c\n" },
                { "{", "[", "changed profile: c\n" },
                { "{", "{}", "" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_trust_snapshot_ TrustSnapshot before = { 0 }, after = { 0 };
                _cleanup_trust_changes_ TrustChanges changes = { 0 };
                _cleanup_free_ char *text = NULL;

                facts(rows[i].before, &before);
                facts(rows[i].after, &after);
                assert_int_equal(trust_changes_find(&scope, &before, &after, &changes), 0);
                text = changes_to_text(&changes);
                if (!streq(text, rows[i].expected))
                        fail_msg("%s, then %s: expected\n%sfound\n%s", rows[i].before, rows[i].after, rows[i].expected, text);
        }
}

/* {"mcpServers": {"<prefix>0": 1, "<prefix>1": 1, …}} */
static char *many_servers(size_t n, const char *prefix) {
        char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);

        assert_non_null(f);
        (void) fputs("{\"mcpServers\":{", f);
        for (size_t i = 0; i < n; i++)
                (void) fprintf(f, "%s\"%s%zu\":1", i > 0 ? "," : "", prefix, i);
        (void) fputs("}}", f);
        assert_int_equal(fclose(f), 0);
        return text;
}

static void test_bounds(void **state) {
        _cleanup_trust_snapshot_ TrustSnapshot many = { 0 }, more = { 0 }, huge = { 0 };
        _cleanup_free_ char *text = NULL, *long_names = NULL, *values = NULL;
        char prefix[5000];

        /* That a part was left out is said. */
        text = many_servers(10000, "s");
        facts(text, &many);
        assert_int_equal(many.n, TRUST_DIRECTORY_MAX);
        assert_non_null(trust_snapshot_find(&many, TRUST_ROOT_PROFILE, "c", true));

        /* Of long names each is an item, but the length is not kept. */
        memset(prefix, 'x', sizeof(prefix) - 1);
        prefix[sizeof(prefix) - 1] = '\0';
        long_names = many_servers(100, prefix);
        facts(long_names, &more);
        assert_int_equal(more.n, 100);
        assert_true(more.path_bytes < 100 * 300);

        /* More values than are taken apart: the whole. */
        values = malloc(2 * JSON_NODES_MAX + 3);
        assert_non_null(values);
        for (size_t i = 0; i <= JSON_NODES_MAX; i++)
                memcpy(values + 2 * i, i == 0 ? "[0" : ",0", 2);
        (void) strcpy(values + 2 * JSON_NODES_MAX, "]");
        facts(values, &huge);
        assert_int_equal(huge.n, 1);
        assert_string_equal(huge.items[0].path, "c");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_facts),
                cmocka_unit_test(test_changes),
                cmocka_unit_test(test_bounds),
        };

        return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
