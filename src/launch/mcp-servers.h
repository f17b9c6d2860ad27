/* SPDX-License-Identifier: MIT */
#pragma once

/* Where claude finds its MCP servers: the profile's .claude.json, which guests write, and the .mcp.json of directories, which guests of
 * other sandboxes may write. */

#include "basic/macro.h"
#include "shared/profile.h"

#define MCP_FILE ".mcp.json"
#define MCP_IMAGES_MAX 64

/* Reads such a file; a link on the way to it, or a file that is not the user's, is left out with a warning. 1, or 0: there is none, or
 * negative errno, said. What is no JSON object gets a warning and is read all the same: the rest is claude's to say.
 * A byte-order mark is left out. */
int mcp_file_read(const char *path, char **ret, size_t *ret_n);

/* Adds the images of all servers in the text that are `podman run` or `docker run`, each once, at most MCP_IMAGES_MAX; the user's and
 * those of all projects. 0, -EBADMSG: no JSON object, or -ENOMEM. */
int mcp_images_add(const char *text, size_t n, char ***images);

/* The images of a profile's servers, and of the .mcp.json in `directory` and above it. 0 or negative errno, said. */
int mcp_images_collect(const Profile *profile, const char *directory, char ***ret);
