/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's GnuPG, as launcher and supervisor ask it. */

#include "basic/macro.h"

/* Runs gpg or gpgconf with the little environment that it needs. Returns its exit status or negative errno, as
 * subprocess_run() does. */
int gpg_run(char *const *argv, size_t output_max, char **ret, size_t *ret_n);

/* The path of the agent's restricted socket (agent-extra-socket), as gpgconf(1) prints it; the caller frees. 0, -ENOENT when
 * GnuPG is not installed, or another negative errno. */
int gpg_extra_socket(char **ret);

/* Whether somebody accepts connections on the Unix socket at `path`. */
bool unix_socket_answers(const char *path);
