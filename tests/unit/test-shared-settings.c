/* SPDX-License-Identifier: MIT */

/* shared-settings.json for a profile and a place: what is filled in, left out and re-pointed, and that nothing else changes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

#define HOOK(url) "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"http\",\"url\":\"" url "\"}]}]}}"

static void test_make(void **state) {
        static const struct {
                SettingsPlace place;
                const char *before, *after;
                uint16_t port;
        } rows[] = {
                { SETTINGS_ON_HOST, "{ \"a\" : 1.50, \"b\":[ ] }\n", "{ \"a\" : 1.50, \"b\":[ ] }\n", 0 },
                /* Values only, however they are written, all of them. */
                { SETTINGS_ON_HOST, "{\"{profile}\":\"{profile}/{profile}\"}", "{\"{profile}\":\"work/work\"}", 0 },
                { SETTINGS_ON_HOST, "{\"a\":[\"\\u007bprofile}\",\"{profil\"]}", "{\"a\":[\"work\",\"{profil\"]}", 0 },
                { SETTINGS_ON_HOST, "{\"a\":\"{profile}\\u0000\\n\"}", "{\"a\":\"work\\u0000\\u000a\"}", 0 },
                { SETTINGS_ON_HOST, "{\"a\":\"\\u0000{{profile}}\"}", "{\"a\":\"\\u0000{work}\"}", 0 },
                /* Rules about the host: in sandboxes only, in deny only. */
                { SETTINGS_ON_HOST, "{\"permissions\":{\"deny\":[\"Bash(sudo:*)\"]}}", "{\"permissions\":{\"deny\":[\"Bash(sudo:*)\"]}}", 0 },
                { SETTINGS_IN_VM, "{\"permissions\":{\"deny\":[\"Bash(sudo:*)\",\"Bash(rm:*)\", \"Read(~/.ssh/**)\",\"Edit(~/.ssh/**)\",\"Read(~/.aws/x)\"]}}",
                        "{\"permissions\":{\"deny\":[\"Bash(rm:*)\"]}}", 0 },
                { SETTINGS_IN_CONTAINER, "{\"permissions\":{\"allow\":[\"Bash(sudo:*)\"],\"deny\":[7,\"Read({profile})\",\"Read(~/.ssh/{profile})\"]}}",
                        "{\"permissions\":{\"allow\":[\"Bash(sudo:*)\"],\"deny\":[7,\"Read(work)\"]}}", 0 },
                { SETTINGS_IN_VM, "{\"permissions\":{\"deny\":[\"Bash(sudo)\"],\"deny\":\"x\"}}", "{\"permissions\":{\"deny\":[\"Bash(sudo)\"],\"deny\":\"x\"}}", 0 },
                /* Hooks. */
                { SETTINGS_ON_HOST, HOOK("http://127.0.0.1:7001/x/{profile}"), HOOK("http://127.0.0.1:7001/x/work"), 0 },
                { SETTINGS_IN_CONTAINER, HOOK("http://127.0.0.1:7001/x/{profile}"), HOOK("http://127.0.0.1:7001/x/work"), 7001 },
                { SETTINGS_IN_VM, HOOK("http://127.0.0.1:7001/x/{profile}"), HOOK("http://169.254.1.2:7001/x/work"), 7001 },
                { SETTINGS_IN_VM, HOOK("http://u:p@localhost/$X?a=127.0.0.1#localhost"), HOOK("http://u:p@169.254.1.2/$X?a=127.0.0.1#localhost"), 80 },
                { SETTINGS_IN_VM, HOOK("HTTPS://LocalHost"), HOOK("HTTPS://169.254.1.2"), 443 },
                { SETTINGS_IN_VM, HOOK("http://localhost.example.invalid:1/"), HOOK("http://localhost.example.invalid:1/"), 0 },
                { SETTINGS_IN_VM, HOOK("http://localhost@example.invalid:1/"), HOOK("http://localhost@example.invalid:1/"), 0 },
                { SETTINGS_IN_VM, HOOK("http://example.invalid/@localhost:1/"), HOOK("http://example.invalid/@localhost:1/"), 0 },
                { SETTINGS_IN_VM, HOOK("http://127.0.0.1:99999/"), HOOK("http://127.0.0.1:99999/"), 0 },
                { SETTINGS_IN_VM, HOOK("http://127.0.0.1:$PORT/"), HOOK("http://127.0.0.1:$PORT/"), 0 },
                { SETTINGS_IN_VM, HOOK("ftp://127.0.0.1:1/"), HOOK("ftp://127.0.0.1:1/"), 0 },
                { SETTINGS_IN_VM, "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"url\":\"http://localhost:1\"}]}]}}",
                        "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"url\":\"http://localhost:1\"}]}]}}", 0 },
                { SETTINGS_IN_VM, "{\"x\":{\"type\":\"http\",\"url\":\"http://localhost:1\"}}", "{\"x\":{\"type\":\"http\",\"url\":\"http://localhost:1\"}}", 0 },
                { SETTINGS_IN_VM, "\xef\xbb\xbf{}\r\n", "{}\r\n", 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_shared_settings_ SharedSettings s = { 0 };
                _cleanup_free_ char *error = NULL;

                assert_int_equal(shared_settings_make(rows[i].before, strlen(rows[i].before), "work", rows[i].place, &s, &error), 0);
                assert_string_equal(s.text, rows[i].after);
                assert_int_equal(s.n_hook_ports, rows[i].port > 0);
                if (rows[i].port > 0)
                        assert_int_equal(s.hook_ports[0], rows[i].port);
        }
}

static void test_refused(void **state) {
        static const struct {
                const char *text, *error;
        } rows[] = {
                { "", "a value is missing" },
                { "[]", "it is no object" },
                { "{\"permissions\":{\"deny\":[\"x\",]}}", "line 1, column 29" },
        };
        char *ports = NULL;
        _cleanup_shared_settings_ SharedSettings s = { 0 };
        _cleanup_free_ char *error = NULL;
        size_t size;
        FILE *f;

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_free_ char *why = NULL;

                assert_int_equal(shared_settings_make(rows[i].text, strlen(rows[i].text), "work", SETTINGS_ON_HOST, &s, &why), -EBADMSG);
                assert_contains(why, rows[i].error);
        }

        f = open_memstream(&ports, &size);
        assert_non_null(f);
        (void) fputs("{\"hooks\":{\"Stop\":[", f);
        for (int i = 0; i <= HOOK_PORTS_MAX; i++)
                (void) fprintf(f, "%s{\"type\":\"http\",\"url\":\"http://localhost:%d\"}", i > 0 ? "," : "", 1000 + i);
        (void) fputs("]}}", f);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(shared_settings_make(ports, size, "work", SETTINGS_IN_CONTAINER, &s, &error), -EBADMSG);
        assert_contains(error, "more than 16 ports");
        free(ports);
}

static void test_file(void **state) {
        _cleanup_shared_settings_ SharedSettings s = { 0 };
        char path[PATH_MAX];

        (void) snprintf(path, sizeof(path), "%s", in_scratch("home/.claude-profiles/shared-settings.json"));
        assert_int_equal(shared_settings_load(&stage.settings, "work", SETTINGS_ON_HOST, &s), 0);
        assert_null(s.text);

        /* By way of a link of the user's, as dotfiles have it. */
        scratch_puts("home/dots.json", "{\"a\":\"{profile}\"}");
        assert_int_equal(symlink("../dots.json", path), 0);
        assert_int_equal(shared_settings_load(&stage.settings, "work", SETTINGS_ON_HOST, &s), 0);
        assert_string_equal(s.text, "{\"a\":\"work\"}");
        shared_settings_clear(&s);

        /* Never without: a link to nothing, no JSON. */
        assert_int_equal(unlink(in_scratch("home/dots.json")), 0);
        messages_begin();
        assert_int_equal(shared_settings_load(&stage.settings, "work", SETTINGS_ON_HOST, &s), -ENOENT);
        assert_one_message(messages_end(), "Cannot open");
        scratch_puts("home/dots.json", "{\n\"a\":1,}");
        messages_begin();
        assert_int_equal(shared_settings_load(&stage.settings, "work", SETTINGS_ON_HOST, &s), -EBADMSG);
        assert_one_message(messages_end(), "shared-settings.json: line 2, column 7: a name in double quotes is missing. Without these");
}

static void test_overridden(void **state) {
        assert_true(shared_settings_are_overridden((char *const[]) { (char *) "-p", (char *) "--settings", NULL }));
        assert_true(shared_settings_are_overridden((char *const[]) { (char *) "--settings={}", NULL }));
        assert_false(shared_settings_are_overridden((char *const[]) { (char *) "--", (char *) "--settings", NULL }));
        assert_false(shared_settings_are_overridden((char *const[]) { (char *) "--settingsx", NULL }));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_make),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_file),
                cmocka_unit_test(test_overridden),
        };

        return cmocka_run_group_tests(tests, stage_setup, stage_teardown);
}
