/* SPDX-License-Identifier: MIT */
#pragma once

/* A directory of its own for a test, and files in it. Include after cmocka.h. */

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[PATH_MAX];

/* The path of `name` in the scratch directory; valid until the fourth call after it. */
__attribute__((unused)) static const char *in_scratch(const char *name) {
        static char paths[4][PATH_MAX + 256];
        static unsigned i;

        i = (i + 1) % 4;
        (void) snprintf(paths[i], sizeof(paths[i]), "%s/%s", scratch, name);
        return paths[i];
}

__attribute__((unused)) static void scratch_write(const char *name, const void *data, size_t n) {
        int fd;

        fd = open(in_scratch(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, data, n), (ssize_t) n);
        (void) close(fd);
}

__attribute__((unused)) static void scratch_puts(const char *name, const char *text) {
        scratch_write(name, text, strlen(text));
}

/* A link of a user who is not root, also when a test is run by root. */
__attribute__((unused)) static void scratch_link(const char *target, const char *name) {
        char path[PATH_MAX + 256];

        (void) snprintf(path, sizeof(path), "%s", in_scratch(name));
        (void) unlink(path);
        assert_int_equal(symlink(target, path), 0);
        if (geteuid() == 0)
                assert_int_equal(lchown(path, 1000, 1000), 0);
}

__attribute__((unused)) static void scratch_mkdir(const char *name) {
        assert_int_equal(mkdir(in_scratch(name), 0700), 0);
}

static int scratch_make(void **state) {
        const char *tmp = getenv("TMPDIR");
        char path[PATH_MAX];

        if (!tmp || *tmp != '/')
                tmp = "/tmp";
        (void) snprintf(path, sizeof(path), "%s/claude-profile-test-XXXXXX", tmp);
        return mkdtemp(path) && realpath(path, scratch) ? 0 : -1;
}

static int scratch_remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        return remove(path);
}

static int scratch_remove(void **state) {
        return nftw(scratch, scratch_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
