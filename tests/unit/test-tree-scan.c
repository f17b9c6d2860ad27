/* SPDX-License-Identifier: MIT */

/* A scan of a work tree: what it finds, in which order, what it does not enter, and where it stops. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "scratch.h"
#include "shared/tree-scan.h"
#include "trust-stage.h"

#define TREE_NEW STAGE_NEW "cd work; rmdir sub src; "

/* "<kind><type> <path>\n" for each finding. */
static char *scan(const char *script, TreeScan *ret) {
        static const char kinds[] = { [TREE_NAMED] = 'n', [TREE_BARE] = 'b', [TREE_CLOSED] = 'c' };
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *whole = NULL;
        char *text = NULL;
        size_t n = 0;
        FILE *f;

        assert_true(asprintf_to(&whole, TREE_NEW "%s", script) >= 0);
        shell(whole);
        fd = open(in_scratch("work"), O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(tree_scan(fd, ret), 0);

        f = open_memstream(&text, &n);
        assert_non_null(f);
        for (size_t i = 0; i < ret->n; i++) {
                const TreeFinding *x = &ret->found[i];

                (void) fprintf(f, "%c%c %s\n", kinds[x->kind], x->type == DT_DIR ? 'd' : x->type == DT_LNK ? 'l' : x->type == DT_REG ? 'f' : 'o',
                                x->path);
        }
        assert_int_equal(fclose(f), 0);
        return text;
}

static void test_findings(void **state) {
        static const struct {
                const char *script, *expected;
        } rows[] = {
                { "", "" },
                { "echo x >a; mkdir b; echo x >b/.gitignore; echo x >.envrc.sample; mkdir .vscodex; echo x >envrc", "" },
                { "mkdir .git", "nd .git\n" },
                { "echo x >.git", "nf .git\n" },
                { "ln -s nowhere .git", "nl .git\n" },
                { "mkfifo .envrc", "no .envrc\n" },
                /* The nearer ones first. */
                { "mkdir -p a/b; echo x >a/b/.envrc; mkdir z; echo x >z/.envrc", "nf z/.envrc\nnf a/b/.envrc\n" },
                { "mkdir -p a/.claude/b; echo x >a/.claude/b/.mcp.json", "nd a/.claude\nnf a/.claude/b/.mcp.json\n" },
                /* Not into a git directory; but into another that only looks like one. */
                { "mkdir -p .git/modules/x; echo x >.git/.envrc; mkdir -p .git/x/.git", "nd .git\n" },
                { "mkdir -p a/.git/b a/c/.git", "nd a/.git\nnd a/c/.git\n" },
                { "mkdir -p b/objects b/refs b/x; echo x >b/HEAD; echo x >b/x/.envrc", "bd b\nnf b/x/.envrc\n" },
                { "mkdir objects refs; ln -s x HEAD", "bd \n" },
                { "mkdir -p b/objects b/refs", "" },
                /* Objects, refs and configuration elsewhere. */
                { "mkdir b; echo x >b/HEAD; echo ../c >b/commondir", "bd b\n" },
                { "mkdir b; echo ../c >b/commondir", "" },
                /* Links lead nowhere, and round in circles. */
                { "ln -s . a; ln -s .. b; mkdir c; ln -s ../c c/d; ln -s / e", "" },
                { "ln -s \"$PWD/../common\" a; echo x >../common/.envrc", "" },
                { "mkdir -p node_modules/x/.vscode", "nd node_modules/x/.vscode\n" },
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                _cleanup_tree_scan_ TreeScan s = { 0 };
                _cleanup_free_ char *text = scan(rows[i].script, &s);

                if (strcmp(text, rows[i].expected) != 0)
                        fail_msg("%s: expected\n%sfound\n%s", rows[i].script, rows[i].expected, text);
                assert_false(s.cut);
        }
}

static void test_closed(void **state) {
        _cleanup_tree_scan_ TreeScan s = { 0 };
        _cleanup_free_ char *text = NULL;

        if (geteuid() == 0) /* reads everything */
                return;

        text = scan("mkdir -p a/b c/d; chmod 000 a; echo x >c/d/.envrc", &s);
        assert_string_equal(text, "cd a\nnf c/d/.envrc\n");
        assert_false(s.cut);
}

static void test_names(void **state) {
        _cleanup_tree_scan_ TreeScan s = { 0 };
        _cleanup_free_ char *text = NULL;

        text = scan("d=$(printf 'e\\033[2J\\nx\\377'); mkdir \"$d\"; echo x >\"$d/.envrc\"", &s);
        assert_string_equal(text, "nf e\x1b[2J\nx\xff/.envrc\n");
}

/* Scans what was put into work/. */
static void scan_again(TreeScan *ret) {
        _cleanup_close_ int fd = -EBADF;

        fd = open(in_scratch("work"), O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(tree_scan(fd, ret), 0);
}

/* Deeper than a path can tell: made by going down. */
static void test_deep(void **state) {
        _cleanup_tree_scan_ TreeScan s = { 0 };
        int fd;

        shell(TREE_NEW "echo x >.envrc");
        fd = open(in_scratch("work"), O_PATH | O_DIRECTORY | O_CLOEXEC);
        for (unsigned i = 0; i < 10000; i++) {
                int next;

                assert_true(fd >= 0 && mkdirat(fd, "d", 0700) >= 0);
                next = openat(fd, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
                fd_close(fd);
                fd = next;
        }
        fd_close(fd);

        scan_again(&s);
        assert_int_equal(s.n, 1);
        assert_string_equal(s.found[0].path, ".envrc");
        assert_true(s.cut);
        assert_in_range(s.entries, 1000, 2100);
        assert_in_range(s.lookups, 1000, TREE_LOOKUPS_MAX);
}

static void test_too_many_found(void **state) {
        _cleanup_tree_scan_ TreeScan s = { 0 };
        static const char *const names[] = { ".git", ".claude", ".mcp.json", ".envrc", ".vscode", ".idea", ".devcontainer", ".husky" };
        char name[64];

        shell(TREE_NEW);
        for (unsigned i = 0; i <= TREE_FOUND_MAX / ELEMENTSOF(names); i++) {
                (void) snprintf(name, sizeof(name), "work/%u", i);
                scratch_mkdir(name);
                for (size_t k = 0; k < ELEMENTSOF(names); k++) {
                        (void) snprintf(name, sizeof(name), "work/%u/%s", i, names[k]);
                        assert_int_equal(symlink("x", in_scratch(name)), 0);
                }
        }

        scan_again(&s);
        assert_int_equal(s.n, TREE_FOUND_MAX);
        assert_true(s.cut);
        assert_true(s.path_bytes < MIB);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_findings),
                cmocka_unit_test(test_closed),
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_deep),
                cmocka_unit_test(test_too_many_found),
        };

        return cmocka_run_group_tests(tests, scratch_make, stage_remove);
}
