/* SPDX-License-Identifier: MIT */
#pragma once

/* What a launch starts from, in the scratch directory: a home, a profile, settings by default, an empty plan. The host's git and
 * ssh see nothing but that home. Include after scratch.h. */

#include <fcntl.h>
#include <stdlib.h>

#include "basic/fd.h"
#include "launch/plan.h"

typedef struct Stage {
        char home[PATH_MAX], config[PATH_MAX], data[PATH_MAX], runtime_root[PATH_MAX], runtime[PATH_MAX], base[PATH_MAX],
                profile_path[PATH_MAX];
        char name[128], claude[PATH_MAX], podman[PATH_MAX], image[64], allow_root[PATH_MAX];
        Dirs dirs;
        Settings settings;
        Profile profile;
        LaunchRequest request;
} Stage;

#define STAGE_PROFILE "work"

static Stage stage;

__attribute__((unused)) static void stage_fill(void) {
        stage.dirs = (Dirs) {
                .home = stage.home,
                .config = stage.config,
                .data = stage.data,
                .runtime_root = stage.runtime_root,
                .runtime = stage.runtime,
        };
        stage.settings = (Settings) {
                .profiles_base = stage.base,
                .claude_bin = stage.claude,
                .podman_bin = stage.podman,
                .sandbox = -1,
                .image = stage.image,
                .isolation = ISOLATION_KRUN,
                .ram_mib = 4096,
                .cpus = 4,
                .skip_permissions = true,
        };
        stage.profile = (Profile) { .name = stage.name, .path = stage.profile_path, .fd = -EBADF };
        stage.request = (LaunchRequest) { .dirs = &stage.dirs, .settings = &stage.settings, .profile = &stage.profile };
        (void) strcpy(stage.name, STAGE_PROFILE);
        (void) strcpy(stage.claude, "claude");
        (void) strcpy(stage.podman, "podman");
        (void) strcpy(stage.image, "claude-profile-sandbox:latest");
}

/* Makes the directories. In the scratch directory: home/, run/ as $XDG_RUNTIME_DIR. */
__attribute__((unused)) static void stage_make(void) {
        stage_fill();

        (void) snprintf(stage.home, sizeof(stage.home), "%s", in_scratch("home"));
        (void) snprintf(stage.config, sizeof(stage.config), "%s", in_scratch("home/.config/claude-profile"));
        (void) snprintf(stage.data, sizeof(stage.data), "%s", in_scratch("home/.local/share/claude-profile"));
        (void) snprintf(stage.runtime_root, sizeof(stage.runtime_root), "%s", in_scratch("run"));
        (void) snprintf(stage.runtime, sizeof(stage.runtime), "%s", in_scratch("run/claude-profile"));
        (void) snprintf(stage.base, sizeof(stage.base), "%s", in_scratch("home/.claude-profiles"));
        (void) snprintf(stage.profile_path, sizeof(stage.profile_path), "%s", in_scratch("home/.claude-profiles/" STAGE_PROFILE));

        scratch_mkdir("home");
        scratch_mkdir("run");
        scratch_mkdir("home/.claude-profiles");
        scratch_mkdir("home/.claude-profiles/" STAGE_PROFILE);
        stage.profile.fd = open(stage.profile_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(stage.profile.fd >= 0);

        assert_int_equal(setenv("HOME", stage.home, 1), 0);
        (void) unsetenv("XDG_CONFIG_HOME");
        (void) unsetenv("GIT_DIR");
        (void) unsetenv("SSH_AUTH_SOCK");
}

/* For cmocka: a scratch directory with a stage in it, and their end. */
__attribute__((unused)) static int stage_setup(void **state) {
        if (scratch_make(state) < 0)
                return -1;
        stage_make();
        return 0;
}

__attribute__((unused)) static int stage_teardown(void **state) {
        stage.profile.fd = fd_close(stage.profile.fd);
        return scratch_remove(state);
}

/* Makes the directory and what is missing above it, in the scratch directory. */
__attribute__((unused)) static void make_path(const char *path) {
        char copy[256];

        (void) snprintf(copy, sizeof(copy), "%s", path);
        for (char *q = copy;; q++) {
                char c = *q;

                if (c != '/' && c != '\0')
                        continue;
                *q = '\0';
                assert_true(mkdir(in_scratch(copy), 0700) >= 0 || errno == EEXIST);
                *q = c;
                if (c == '\0')
                        return;
        }
}

/* The same with a directory of programs, first in PATH. */
__attribute__((unused)) static int stage_setup_programs(void **state) {
        char path[PATH_MAX];

        if (stage_setup(state) < 0)
                return -1;
        make_path("bin");
        (void) snprintf(path, sizeof(path), "%s:/usr/bin:/bin", in_scratch("bin"));
        return setenv("PATH", path, 1);
}

/* A stand-in for a program: a shell script. */
__attribute__((unused)) static void stage_program(const char *name, const char *script) {
        char path[64], text[4096];

        (void) snprintf(path, sizeof(path), "bin/%s", name);
        (void) snprintf(text, sizeof(text), "#!/bin/sh\n%s\n", script);
        scratch_puts(path, text);
        assert_int_equal(chmod(in_scratch(path), 0755), 0);
}

__attribute__((unused)) static Plan *stage_plan(void) {
        Plan *p;

        assert_int_equal(plan_new(&stage.request, &p), 0);
        return p;
}
