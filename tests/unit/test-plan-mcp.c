/* SPDX-License-Identifier: MIT */

/* .mcp.json of the directories above the work root. */

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
#include "basic/strv.h"
#include "scratch.h"
#include "launch-stage.h"
#include "messages.h"

static Plan *plan(const char *work_root, const char *said) {
        Plan *p = stage_plan();

        assert_int_equal(strdup_to(&p->work_root, in_scratch(work_root)), 0);
        messages_begin();
        assert_int_equal(plan_mcp(p), 0);
        assert_said(messages_end(), said);
        return p;
}

static void test_above(void **state) {
        static const char parent[] = "{\"mcpServers\":{\"s\":{\"command\":\"sh\",\"args\":[\"-c\",\"R=${R%/}\"]}}}";
        static const char marked[] = "\xef\xbb\xbf{\"mcpServers\":{}}\r\n";
        _cleanup_plan_ Plan *none = NULL, *p = NULL;

        make_path("home/w/p/sub");
        none = plan("home/w/p/sub", NULL);
        assert_int_equal(none->n_mounts, 0);

        scratch_puts("home/w/.mcp.json", parent);
        scratch_puts("home/w/p/.mcp.json", marked);
        scratch_puts("home/w/p/sub/.mcp.json", "{}"); /* in the work root itself: there already */
        p = plan("home/w/p/sub", NULL);
        assert_int_equal(p->n_mounts, 2);
        assert_int_equal(p->n_files, 2);
        assert_string_equal(p->mounts[0].target, in_scratch("home/w/p/.mcp.json"));
        assert_string_equal(p->mounts[1].target, in_scratch("home/w/.mcp.json"));
        assert_true(p->mounts[0].flags & MOUNT_READ_ONLY);
        /* Byte for byte, but for a byte-order mark. */
        assert_string_equal(p->files[0].data, marked + 3);
        assert_int_equal(p->files[0].size, sizeof(marked) - 1 - 3);
        assert_string_equal(p->files[1].data, parent);
        assert_string_not_equal(p->files[0].name, p->files[1].name);
}

static void test_odd(void **state) {
        static const char *const broken[] = { "{\"mcpServers\":", "[]", "", "null" };

        make_path("home/w/p");
        for (size_t i = 0; i < ELEMENTSOF(broken); i++) {
                _cleanup_plan_ Plan *p = NULL;

                scratch_puts("home/w/.mcp.json", broken[i]);
                p = plan("home/w/p", "is no JSON object");
                assert_int_equal(p->n_mounts, 1);
        }
}

/* Another sandbox may have the directory above for its work root. */
static void test_planted(void **state) {
        _cleanup_plan_ Plan *link = NULL, *directory = NULL, *fifo = NULL;

        make_path("home/w/p");
        make_path("home/.ssh");
        scratch_puts("home/.ssh/id", "{}");
        assert_int_equal(symlink("../.ssh/id", in_scratch("home/w/.mcp.json")), 0);
        link = plan("home/w/p", "reached through a link");
        assert_int_equal(link->n_mounts, 0);

        assert_int_equal(unlink(in_scratch("home/w/.mcp.json")), 0);
        scratch_mkdir("home/w/.mcp.json");
        directory = plan("home/w/p", "is no file of yours");
        assert_int_equal(directory->n_mounts, 0);

        assert_int_equal(rmdir(in_scratch("home/w/.mcp.json")), 0);
        assert_int_equal(mkfifo(in_scratch("home/w/.mcp.json"), 0600), 0);
        fifo = plan("home/w/p", "is no file of yours");
        assert_int_equal(fifo->n_mounts, 0);

        if (geteuid() == 0) {
                _cleanup_plan_ Plan *foreign = NULL;

                assert_int_equal(unlink(in_scratch("home/w/.mcp.json")), 0);
                scratch_puts("home/w/.mcp.json", "{}");
                assert_int_equal(chown(in_scratch("home/w/.mcp.json"), 1001, 1001), 0);
                foreign = plan("home/w/p", "is no file of yours");
                assert_int_equal(foreign->n_mounts, 0);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_above, stage_setup, stage_teardown),
                cmocka_unit_test_setup_teardown(test_odd, stage_setup, stage_teardown),
                cmocka_unit_test_setup_teardown(test_planted, stage_setup, stage_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
