/* SPDX-License-Identifier: MIT */
#pragma once

/* The profile's .env: KEY=VALUE lines. env_parse() is pure: text in, variables and remarks out; the file itself is never
 * handed to anybody. Rules: cases E01-E08 (claude-profile.conf(5) has them for users). */

#include "basic/macro.h"

/* Parses `n` bytes. `*ret_env` are "KEY=VALUE" strings in the order of the file, each key once. `*ret_warnings` are
 * sentences for the user that give line numbers and keys, never values. Both are the caller's. A text that must stop the launch: -EBADMSG
 * and one sentence in `*ret_error` that says line and key, never the value. */
int env_parse(const char *text, size_t n, char ***ret_env, char ***ret_warnings, char **ret_error);

/* Reads `.env` of the profile directory `profile_fd` and parses it; no such file: an empty list. A link is refused. `path` is the
 * file's name for messages. Errors as above, each with a sentence. */
int env_file_load(int profile_fd, const char *path, char ***ret_env, char ***ret_warnings, char **ret_error);
