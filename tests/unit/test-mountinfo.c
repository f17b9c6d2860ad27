/* SPDX-License-Identifier: MIT */

/* Reading /proc/<pid>/mountinfo: escapes, optional fields, garbage, and which of several mounts a process sees. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "launch/mountinfo.h"

static int parse(const char *text, MountTable *ret) {
        return mount_table_parse(strdup(text), ret);
}

static void test_fields(void **state) {
        static const char text[] =
                "25 1 0:23 / / rw,relatime shared:1 master:2 propagate_from:3 unbindable - overlay overlay rw,lowerdir=/a - b,ro\n"
                "\n"
                "26 25 253:4294967295 /sub/dir /mnt ro,nosuid - ext4 /dev/mapper/x rw\n"
                "27 25 0:5 / /proc rw - proc proc ro\n"
                "28 25 0:44 /a\\040b\\011c\\012d\\134e\\043f /x\\040y/\\134040 rw,noatime,ro shared:1 - fuse.sshfs u@h:/ rw\n"
                "29 25 0:45 / /ro rw,roo,xro - tmpfs ro rw";
        _cleanup_mount_table_ MountTable t = { 0 };

        assert_int_equal(parse(text, &t), 0);
        assert_int_equal(t.n, 5);

        assert_int_equal(t.mounts[0].id, 25);
        assert_int_equal(t.mounts[0].parent, 1);
        assert_int_equal(t.mounts[0].major, 0);
        assert_int_equal(t.mounts[0].minor, 23);
        assert_string_equal(t.mounts[0].root, "/");
        assert_string_equal(t.mounts[0].mount_point, "/");
        assert_string_equal(t.mounts[0].type, "overlay");
        assert_false(t.mounts[0].read_only);

        assert_int_equal(t.mounts[1].minor, 4294967295U);
        assert_string_equal(t.mounts[1].root, "/sub/dir");
        assert_string_equal(t.mounts[1].type, "ext4");
        assert_true(t.mounts[1].read_only);

        /* Of the mount, not of its file system. */
        assert_false(t.mounts[2].read_only);

        assert_string_equal(t.mounts[3].root, "/a b\tc\nd\\e#f");
        assert_string_equal(t.mounts[3].mount_point, "/x y/\\040");
        assert_string_equal(t.mounts[3].type, "fuse.sshfs");
        assert_true(t.mounts[3].read_only);
        assert_false(t.mounts[4].read_only);

        assert_ptr_equal(mount_table_by_id(&t, 28), &t.mounts[3]);
        assert_null(mount_table_by_id(&t, 1));
}

static void test_odd_escapes(void **state) {
        static const char text[] = "1 0 0:1 /\\ /\\0\\04\\400\\08 rw - t s o\n2 1 0:1 /\\377\\001 /a\\\\040 rw - t s o\n3 1 0:1 /\\04 /\\ rw - t s o\n";
        _cleanup_mount_table_ MountTable t = { 0 };

        assert_int_equal(parse(text, &t), 0);
        assert_string_equal(t.mounts[0].root, "/\\");
        assert_string_equal(t.mounts[0].mount_point, "/\\0\\04\\400\\08");
        assert_string_equal(t.mounts[1].root, "/\377\001");
        assert_string_equal(t.mounts[1].mount_point, "/a\\ ");
        assert_string_equal(t.mounts[2].root, "/\\04");
}

static void test_garbage(void **state) {
        static const char *const rows[] = {
                "x", " ", " - ", " - a b c", "1 0 0:1 / / rw", "1 0 0:1 / / rw shared:1", "1 0 0:1 / / - t s o", "1 0 0:1 / rw - t s o",
                "1 0 0 / / rw - t s o", "1 0 :1 / / rw - t s o", "1 0 a:b / / rw - t s o", "x 0 0:1 / / rw - t s o", "1 x 0:1 / / rw - t s o",
                "-1 0 0:1 / / rw - t s o", "1 0 0:1 / / rw -t s o", "1 0 0:1 / / rw-t s o",
                "1 0 0:1 / / rw - t s o\nx", "18446744073709551616 0 0:1 / / rw - t s o", "1 0 0:1x / / rw - t s o",
        };

        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                MountTable t = { 0 };

                if (parse(rows[i], &t) != -EBADMSG)
                        fail_msg("taken: %s", rows[i]);
                assert_null(t.mounts);
        }

        for (const char *const *s = (const char *const[]) { "", "\n", "\n\n\n", NULL }; *s; s++) {
                _cleanup_mount_table_ MountTable t = { 0 };

                assert_int_equal(parse(*s, &t), 0);
                assert_int_equal(t.n, 0);
                assert_null(mount_table_at(&t, "/"));
        }
}

/* Which line a path leads to: its id, or 0. */
static uint64_t id_at(const char *text, const char *path) {
        _cleanup_mount_table_ MountTable t = { 0 };
        const MountInfo *m;

        assert_int_equal(parse(text, &t), 0);
        m = mount_table_at(&t, path);
        return m ? m->id : 0;
}

static void test_at(void **state) {
        static const char plain[] = "10 1 0:1 / / rw - t s o\n11 10 0:2 / /a rw - t s o\n12 11 0:3 / /a/b rw - t s o\n13 10 0:4 / /ab rw - t s o\n";
        static const char stacked[] = "10 1 0:1 / / rw - t s o\n14 13 0:2 / /a rw - t s o\n13 12 0:3 / /a rw - t s o\n12 10 0:4 / /a rw - t s o\n";
        static const char hidden[] = "10 1 0:1 / / rw - t s o\n11 10 0:2 / /a/b/c rw - t s o\n12 10 0:3 / /a rw - t s o\n";
        static const char hidden_deep[] = "10 1 0:1 / / rw - t s o\n11 10 0:2 / /a rw - t s o\n12 11 0:3 / /a/b/c rw - t s o\n"
                                          "13 11 0:4 / /a/b rw - t s o\n14 13 0:5 / /a/b/c rw - t s o\n";
        static const char on_root[] = "10 1 0:1 / / rw - t s o\n11 10 0:2 / /a rw - t s o\n12 10 0:3 / / rw - t s o\n13 12 0:4 / /b rw - t s o\n";

        assert_int_equal(id_at(plain, "/"), 10);
        assert_int_equal(id_at(plain, "/a"), 11);
        assert_int_equal(id_at(plain, "/a/b"), 12);
        assert_int_equal(id_at(plain, "/ab"), 13);
        assert_int_equal(id_at(plain, "/a/"), 0);
        assert_int_equal(id_at(plain, "/a/b/c"), 0);
        assert_int_equal(id_at(plain, "/b"), 0);

        /* The topmost, in whatever order the lines are. */
        assert_int_equal(id_at(stacked, "/a"), 14);

        /* There, but nobody can reach it. */
        assert_int_equal(id_at(hidden, "/a/b/c"), 0);
        assert_int_equal(id_at(hidden, "/a"), 12);
        assert_int_equal(id_at(hidden_deep, "/a/b/c"), 14);
        assert_int_equal(id_at(hidden_deep, "/a/b"), 13);
        assert_int_equal(id_at(on_root, "/"), 12);
        assert_int_equal(id_at(on_root, "/a"), 0);
        assert_int_equal(id_at(on_root, "/b"), 13);

        /* Tables that no kernel prints end, too. */
        assert_int_equal(id_at("10 10 0:1 / / rw - t s o\n", "/x"), 0);
        assert_int_equal(id_at("10 11 0:1 / / rw - t s o\n11 10 0:1 / / rw - t s o\n", "/x"), 0);
        assert_int_equal(id_at("9 1 0:1 / / rw - t s o\n10 11 0:1 / /a rw - t s o\n11 10 0:1 / /a rw - t s o\n", "/a"), 0);
        assert_int_equal(id_at("11 10 0:2 / /a rw - t s o\n", "/a"), 0);
}

static void test_own(void **state) {
        _cleanup_mount_table_ MountTable t = { 0 };
        const MountInfo *proc;

        assert_int_equal(mount_table_read("/proc/self/mountinfo", &t), 0);
        assert_true(t.n > 0);
        proc = mount_table_at(&t, "/proc");
        assert_non_null(proc);
        assert_string_equal(proc->type, "proc");

        assert_int_equal(mount_table_read("/proc/self/no-such-file", &(MountTable) { 0 }), -ENOENT);
        assert_int_equal(mount_table_read("/proc/self/status", &(MountTable) { 0 }), -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fields),
                cmocka_unit_test(test_odd_escapes),
                cmocka_unit_test(test_garbage),
                cmocka_unit_test(test_at),
                cmocka_unit_test(test_own),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
