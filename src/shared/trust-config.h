/* SPDX-License-Identifier: MIT */
#pragma once

/* What claude's own configuration, `.claude.json` of the profile, makes the host's claude run or obey: MCP servers, approvals,
 * directories that are trusted, variables. The guest's claude writes it all the time, so that it changed says nothing. */

#include "basic/macro.h"
#include "shared/trust-snapshot.h"

/* Adds an item for each such fact in the text of `file`; of a text that is no JSON object one for the whole. The work root and the
 * launch's directory may become trusted. Pure. 0 or -ENOMEM. */
int trust_config_facts(const char *text, size_t n, const char *file, const TrustScope *scope, TrustSnapshot *s);
