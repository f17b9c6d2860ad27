/* SPDX-License-Identifier: MIT */
#pragma once

/* Images of MCP servers, pulled once on the host for all sandboxes (`sandbox-cache`): a store of podman's own, <data>/image-store,
 * which a guest's podman uses beside its own one, read-only.
 *
 * Its files must have the owners that the image says to a guest, whose ids are others than the host's. So podman is told to keep
 * owners and modes as attributes of files that are all the user's (force_mask), which fuse-overlayfs reads, here and inside. */

#include "basic/macro.h"
#include "shared/dirs.h"

/* <data>/image-store; the caller frees. NULL when out of memory. */
char *image_store_path(const Dirs *dirs);

/* Whether any image is in it. */
bool image_store_is_filled(const char *store);

/* What the guest's podman reads: the store, at its place there. */
extern const char image_store_configuration[];

/* podman's command line that pulls an image into the store. 0 or -ENOMEM. */
int image_store_pull_command(const char *podman, const char *store, const char *run, const char *image, char ***ret);
