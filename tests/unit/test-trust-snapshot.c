/* SPDX-License-Identifier: MIT */

/* Snapshots as values and as bytes; the files in a launch directory; and hostile trees in front of one that is taken. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <time.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/fd.h"
#include "basic/str.h"
#include "scratch.h"
#include "shared/launch-dir.h"
#include "shared/trust-snapshot.h"
#include "trust-stage.h"

static void add(TrustSnapshot *s, unsigned root, const char *path, TrustItemType type, unsigned thing) {
        assert_int_equal(trust_snapshot_add(s, &(TrustItem) { .root = root, .type = type, .thing = thing, .path = strdup(path) }), 0);
}

static void test_sort_and_find(void **state) {
        _cleanup_trust_snapshot_ TrustSnapshot s = { 0 };

        assert_null(trust_snapshot_find(NULL, 0, "a", false));
        trust_snapshot_sort(&s);
        assert_null(trust_snapshot_find(&s, 0, "a", false));

        add(&s, 1, "b", TRUST_ITEM_FILE, 5);
        add(&s, 0, "b", TRUST_ITEM_FILE, 1);
        add(&s, 1, "a", TRUST_ITEM_FILE, 2);
        add(&s, 1, "b", TRUST_ITEM_FILE, 3);
        add(&s, 1, "b", TRUST_ITEM_CUT, 9);
        add(&s, 1, "c", TRUST_ITEM_DIRECTORY, 2);
        add(&s, 1, "c", TRUST_ITEM_CLOSED, 9);
        trust_snapshot_sort(&s);

        assert_int_equal(s.n, 5);
        assert_int_equal(s.path_bytes, 5 * 2);
        assert_string_equal(s.items[0].path, "b");
        assert_int_equal(s.items[0].root, 0);
        /* The first row counts; that something was left out is a thing of its own; and a directory gives way. */
        assert_int_equal(trust_snapshot_find(&s, 1, "b", false)->thing, 3);
        assert_int_equal(trust_snapshot_find(&s, 1, "b", true)->thing, 9);
        assert_int_equal(trust_snapshot_find(&s, 1, "c", false)->type, TRUST_ITEM_CLOSED);
        assert_null(trust_snapshot_find(&s, 1, "a", true));
        assert_null(trust_snapshot_find(&s, 2, "a", false));
        assert_null(trust_snapshot_find(&s, 1, "", false));
}

static void test_bounds(void **state) {
        _cleanup_trust_snapshot_ TrustSnapshot items = { 0 }, bytes = { 0 };
        char path[4001];

        for (size_t i = 0; i < TRUST_ITEMS_MAX + 100; i++) {
                (void) snprintf(path, sizeof(path), "%zu", i);
                add(&items, 1, path, TRUST_ITEM_FILE, 0);
        }
        assert_int_equal(items.n, TRUST_ITEMS_MAX + 1);
        trust_snapshot_sort(&items);
        assert_non_null(trust_snapshot_find(&items, TRUST_ROOT_WORK, "", true));

        for (size_t i = 0; i < 3000; i++) {
                (void) snprintf(path, sizeof(path), "%04000zu", i);
                add(&bytes, 1, path, TRUST_ITEM_FILE, 0);
        }
        assert_true(bytes.path_bytes < TRUST_PATHS_MAX + 2 * sizeof(path));
        assert_int_equal(bytes.items[bytes.n - 1].type, TRUST_ITEM_CUT);
        assert_int_equal(trust_snapshot_add(&bytes, &(TrustItem) { .path = NULL }), -ENOMEM);
}

static void test_parse_refusals(void **state) {
#define HEAD "claude-profile trust snapshot 1\n"
#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
        static const struct {
                const char *data;
                size_t n; /* 0: as text, with its NUL */
                size_t items;
                bool ok;
        } rows[] = {
                { HEAD, STRLEN(HEAD), 0, true },
                { HEAD "1 0 f 1 2 3 4 " DIGEST " a b", 0, 1, true },
                { HEAD "1 0 f 0 18446744073709551615 3 4 - ", 0, 1, true },
                { HEAD "1 0 f 0 2 3 4 - a\0" "0 1 x 0 0 0 0 - b", STRLEN(HEAD) + 36, 2, true },
                { "", 1, 0, false },
                { "claude-profile trust snapshot 2\n", STRLEN(HEAD), 0, false },
                { HEAD "1 0 f 1 2 3 4 - a", STRLEN(HEAD) + 17, 0, false },
                { HEAD "", STRLEN(HEAD) + 1, 0, false },
                { HEAD "1 0 f 1 2 3 4 -", 0, 0, false },
                { HEAD "1 0 f 1 2 3 4 0123 a", 0, 0, false },
                { HEAD "1 0 f 2 2 3 4 - a", 0, 0, false },
                { HEAD "1 0 z 1 2 3 4 - a", 0, 0, false },
                { HEAD "1 0 ff 1 2 3 4 - a", 0, 0, false },
                { HEAD "1 0  1 2 3 4 - a", 0, 0, false },
                { HEAD "1 9999 f 1 2 3 4 - a", 0, 0, false },
                { HEAD "70000 0 f 1 2 3 4 - a", 0, 0, false },
                { HEAD "-1 0 f 1 2 3 4 - a", 0, 0, false },
                { HEAD "1 0 f 1 18446744073709551616 3 4 - a", 0, 0, false },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const size_t n = rows[i].n > 0 ? rows[i].n : strlen(rows[i].data) + 1;
                _cleanup_trust_snapshot_ TrustSnapshot s = { 0 };
                int r;

                r = trust_snapshot_parse(rows[i].data, n, &s);
                if (r != (rows[i].ok ? 0 : -EBADMSG) || s.n != rows[i].items)
                        fail_msg("row %zu: %d", i, r);
        }
}

static void take(const TrustScope *scope, const TrustSnapshot *before, TrustSnapshot *ret) {
        assert_int_equal(trust_snapshot_take(scope, NULL, before, ret), 0);
}

static void test_files(void **state) {
        _cleanup_trust_snapshot_ TrustSnapshot taken = { 0 }, again = { 0 };
        _cleanup_trust_scope_ TrustScope scope = stage_scope(), read = { 0 };
        _cleanup_close_ int fd = -EBADF;

        shell(STAGE_NEW "mkdir launch work/.git; printf 'x' >work/.git/config; d=$(printf 'work/\\377\\n'); mkdir \"$d\"; echo x >\"$d/.envrc\"; "
                        "mkdir -p profile/hooks; ln -s x profile/hooks/y; mkfifo profile/CLAUDE.md; echo '{\"env\":{\"A\":1}}' >profile/.claude.json");
        assert_int_equal(strv_add(&scope.git_dirs, "/with\xff\"\\and\x01"), 0);
        fd = open(in_scratch("launch"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        assert_int_equal(trust_scope_read(fd, &read), -ENOENT);
        assert_int_equal(trust_snapshot_read(fd, &again), -ENOENT);
        take(&scope, NULL, &taken);
        assert_int_equal(taken.n, 7);
        assert_int_equal(trust_scope_write(fd, &scope), 0);
        assert_int_equal(trust_snapshot_write(fd, &taken), 0);
        assert_int_equal(trust_snapshot_write(fd, &taken), -EEXIST);

        assert_int_equal(trust_scope_read(fd, &read), 0);
        assert_string_equal(read.profile, scope.profile);
        assert_string_equal(read.work_root, scope.work_root);
        assert_string_equal(read.directory, scope.directory);
        for (size_t i = 0; i <= strv_length(scope.git_dirs); i++)
                assert_true(scope.git_dirs[i] ? streq(read.git_dirs[i], scope.git_dirs[i]) : !read.git_dirs[i]);
        assert_string_equal(read.trusted_paths[0], scope.trusted_paths[0]);
        assert_int_equal(strv_length(read.report_paths), strv_length(scope.report_paths));

        assert_int_equal(trust_snapshot_read(fd, &again), 0);
        assert_int_equal(again.n, taken.n);
        for (size_t i = 0; i < again.n; i++) {
                TrustItem a = taken.items[i], b = again.items[i];

                assert_string_equal(a.path, b.path);
                assert_true(a.root == b.root && a.thing == b.thing && a.type == b.type && a.executable == b.executable &&
                                a.hashed == b.hashed && a.size == b.size && a.inode == b.inode && a.ctime_nsec == b.ctime_nsec &&
                                memcmp(a.digest, b.digest, SHA256_SIZE) == 0);
        }
        shell("rm -r launch");
}

static void test_scope_refusals(void **state) {
        static const char *const rows[] = {
                "", "[]", "{}", "{\"profile\":\"/p\"}",
                "{\"profile\":\"/p\",\"work-root\":\"w\",\"directory\":\"/w\",\"git-directories\":[],\"trusted-paths\":[],\"report-paths\":[]}",
                "{\"profile\":\"/p\",\"work-root\":\"/w\",\"directory\":\"/w/../x\",\"git-directories\":[],\"trusted-paths\":[],\"report-paths\":[]}",
                "{\"profile\":\"/p\",\"work-root\":\"/w\",\"directory\":\"/w\",\"git-directories\":[\"x\"],\"trusted-paths\":[],\"report-paths\":[]}",
                "{\"profile\":\"/p\",\"work-root\":\"/w\",\"directory\":\"/w\",\"git-directories\":[],\"trusted-paths\":[],\"report-paths\":[1]}",
        };

        scratch_mkdir("launch");
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_trust_scope_ TrustScope scope = { 0 };
                _cleanup_close_ int fd = open(in_scratch("launch"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

                scratch_puts("launch/" LAUNCH_FILE_TRUST_SCOPE, rows[i]);
                if (trust_scope_read(fd, &scope) != -EBADMSG)
                        fail_msg("%s", rows[i]);
        }
        shell("rm -r launch");
}

static void test_locate(void **state) {
        char *git_dirs[] = { (char *) "/w/.git", (char *) "/c/.git", NULL };
        const TrustScope scope = { .profile = (char *) "/p", .work_root = (char *) "/w", .directory = (char *) "/w/s", .git_dirs = git_dirs };
        static const struct {
                const char *path, *below; /* NULL: nowhere */
                unsigned root;
        } rows[] = {
                { "/w", "", TRUST_ROOT_WORK }, { "/w/a/b", "a/b", TRUST_ROOT_WORK }, { "/w/.git", ".git", TRUST_ROOT_WORK },
                { "/p/x", "x", TRUST_ROOT_PROFILE }, { "/c/.git/hooks", "hooks", TRUST_ROOT_OUTSIDE + 1 },
                { "/c", NULL, 0 }, { "/wx", NULL, 0 }, { "/", NULL, 0 }, { "/etc/passwd", NULL, 0 },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                const char *below;
                unsigned root;

                if (trust_scope_locate(&scope, rows[i].path, &root, &below) != (rows[i].below != NULL) ||
                                (rows[i].below && (root != rows[i].root || !streq(below, rows[i].below))))
                        fail_msg("%s", rows[i].path);
        }
        assert_string_equal(trust_scope_root(&scope, TRUST_ROOT_OUTSIDE + 1), "/c/.git");
        assert_null(trust_scope_root(&scope, TRUST_ROOT_OUTSIDE + 2));
}

/* Nothing that waits is waited for, and no link leads out. */
static void test_hostile(void **state) {
        _cleanup_trust_snapshot_ TrustSnapshot s = { 0 };
        _cleanup_trust_scope_ TrustScope scope = stage_scope();
        const uint64_t begin = now_usec();

        shell(STAGE_NEW "mkfifo profile/settings.json profile/.claude.json profile/.config.json work/.envrc; ln -s / profile/skills; "
                        "ln -s /etc profile/agents; mkdir -p work/.git profile/hooks; ln -s /etc work/.git/info; mkfifo work/.git/config "
                        "profile/hooks/f; ln -s loop work/loop; ln -s ../../../../../../etc/passwd work/.mcp.json; ln -s . profile/hooks/l");
        take(&scope, NULL, &s);
        assert_true(now_usec() - begin < 60 * USEC_PER_SEC);

        for (size_t i = 0; i < s.n; i++)
                assert_true(s.items[i].type == TRUST_ITEM_OTHER || s.items[i].type == TRUST_ITEM_LINK ||
                                s.items[i].type == TRUST_ITEM_DIRECTORY || s.items[i].type == TRUST_ITEM_REPOSITORY);
        assert_int_equal(trust_snapshot_find(&s, TRUST_ROOT_WORK, ".git/info/attributes", false)->type, TRUST_ITEM_LINK);
        assert_int_equal(trust_snapshot_find(&s, TRUST_ROOT_WORK, ".mcp.json", false)->type, TRUST_ITEM_LINK);
        assert_null(trust_snapshot_find(&s, TRUST_ROOT_PROFILE, "agents/passwd", false));
        assert_null(trust_snapshot_find(&s, TRUST_ROOT_PROFILE, "hooks/l/f", false));
}

/* What a guest can fill leaves nothing out of what it cannot. */
static void test_flood(void **state) {
        _cleanup_trust_snapshot_ TrustSnapshot s = { 0 };
        _cleanup_trust_scope_ TrustScope scope = stage_scope();
        char path[128];

        shell(STAGE_NEW "mkdir -p work/.git profile/skills profile/local work/.claude; echo x >work/.git/config; echo x >profile/local/claude");
        for (unsigned i = 0; i < TRUST_DIRECTORY_MAX + 500; i++) {
                (void) snprintf(path, sizeof(path), "profile/skills/%u", i);
                assert_int_equal(symlink("x", in_scratch(path)), 0);
        }
        take(&scope, NULL, &s);
        assert_non_null(trust_snapshot_find(&s, TRUST_ROOT_PROFILE, "local/claude", false));
        assert_non_null(trust_snapshot_find(&s, TRUST_ROOT_WORK, ".git/config", false));
        assert_non_null(trust_snapshot_find(&s, TRUST_ROOT_PROFILE, "skills", true));
        /* All of them, since they are links, which are looked for in the whole profile. */
        assert_in_range(s.n, TRUST_DIRECTORY_MAX, TRUST_DIRECTORY_MAX + 500 + 16);
}

static void test_no_roots(void **state) {
        _cleanup_trust_snapshot_ TrustSnapshot s = { 0 };
        _cleanup_trust_scope_ TrustScope scope = stage_scope();

        shell(STAGE_NEW "rm -r work");
        assert_int_equal(trust_snapshot_take(&scope, NULL, NULL, &s), -ENOENT);
        shell("mkdir elsewhere; ln -s elsewhere work");
        assert_int_equal(trust_snapshot_take(&scope, NULL, NULL, &s), -ELOOP);
        shell("rm work; rm -r elsewhere; mkfifo work");
        assert_int_equal(trust_snapshot_take(&scope, NULL, NULL, &s), -ENOTDIR);
        shell("rm work");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sort_and_find),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_parse_refusals),
                cmocka_unit_test(test_files),
                cmocka_unit_test(test_scope_refusals),
                cmocka_unit_test(test_locate),
                cmocka_unit_test(test_hostile),
                cmocka_unit_test(test_flood),
                cmocka_unit_test(test_no_roots),
        };

        return cmocka_run_group_tests(tests, scratch_make, stage_remove);
}
