/* SPDX-License-Identifier: MIT */
#pragma once

/* Tokens of other tools' logins, on their way into the launch's environment file. */

#include "launch/plan.h"

#define TOKEN_HELPER_USEC (10 * USEC_PER_SEC) /* what a launch waits for a tool that keeps tokens */
#define TOKEN_FILE_MAX (1 * MIB)

/* One line of printable characters: a notice or a label is no token. */
bool token_is_sound(const char *text);

/* When a JSON web token (RFC 7519) expires, in seconds since the epoch. 0, or -EBADMSG if it is none or does not say. */
int token_expiry(const char *token, int64_t *ret);

/* Runs a tool that prints a token, with nobody to ask and without the profile's variables, for at most `timeout_usec`. `passed` is as
 * for environment_pick(); `extra` (may be NULL) is one more NAME=VALUE. Its status and output, as subprocess_run(); -ENOMEM was not
 * said. */
int token_ask(char *const *argv, const char *const *passed, size_t n_passed, const char *extra, uint64_t timeout_usec, size_t max,
                char **ret_output, size_t *ret_n);

/* What kept a tool from answering, in words; `r` is token_ask()'s. */
const char *token_failure(int r);

/* Adds a variable unless the profile has it: profiles keep accounts apart. 0 or -ENOMEM, said. */
int token_add_variable(Plan *p, const char *name, const char *value);
