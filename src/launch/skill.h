/* SPDX-License-Identifier: MIT */
#pragma once

/* The skill "sandbox-tools": a page that tells an agent in a sandbox which tools the image has, instead of having it try. */

#include "basic/macro.h"

/* A shell script that prints which of the known tools there are, a line each, and the name of the system. */
int skill_probe_script(char **ret);

/* The page, from that output; what is not of the script's form is left out. 0 or -ENOMEM, or -ENODATA: there is nothing in it. */
int skill_render(const char *image, const char *output, char **ret);
