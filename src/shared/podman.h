/* SPDX-License-Identifier: MIT */
#pragma once

/* podman, as launcher and supervisor both use it: its environment, and removing what a dead launch left in its database. */

#include "basic/macro.h"

#define LABEL_PROFILE "claude-profile.profile"
#define LABEL_LAUNCH "claude-profile.launch"

/* What podman needs of the caller's environment and nothing else: no token, no LD_PRELOAD. 0 or -ENOMEM. */
int podman_environment(char ***ret);

/* How to reach podman for a launch, kept in its directory for the supervisor (cleanup.json). */
typedef struct PodmanAccess {
        char *program;
        char **environment;
} PodmanAccess;

int podman_access_write(int dir_fd, const PodmanAccess *a);
int podman_access_read(int dir_fd, PodmanAccess *ret);
void podman_access_clear(PodmanAccess *a);
#define _cleanup_podman_access_ _cleanup_(podman_access_clear)

/* Removes the container of the launch, by its labels and name, and makes sure that it is gone. 0 or negative errno. */
int podman_remove_launch(const PodmanAccess *a, const char *profile, const char *id);

/* The launch ids of all containers of a profile, running or not. The caller frees. 0 or negative errno. */
int podman_list_launches(const PodmanAccess *a, const char *profile, char ***ret);

/* Whether the image is there: 1, 0 or negative errno. */
int podman_image_exists(const PodmanAccess *a, const char *image);
