/* SPDX-License-Identifier: MIT */
#pragma once

/* Which image an MCP server runs: `podman run` and `docker run` with their options. Pure; the arguments may come from a guest. */

#include "basic/macro.h"

/* `program` and `args` as claude starts the server. The image, one of `args`; NULL: it is neither podman nor docker, runs no
 * container, or the image cannot be told, because it has a variable in it, say. */
const char *mcp_image_of(const char *program, char *const *args);

/* Whether podman could take it for the name of an image, and for nothing else. */
bool mcp_image_is_valid(const char *name);
