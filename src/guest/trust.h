/* SPDX-License-Identifier: MIT */
#pragma once

/* Has the image's programs trust whom the host trusts: where the image has a bundle of certificate authorities of its own, a link
 * to the host's (GUEST_ENV_TRUST) takes its place. Programs that look at no variable, and those behind sudo, find it there. */
void trust_prepare(void);

/* One such place. Returns 1 if it was replaced, 0 if there is nothing to replace, or negative errno. */
int trust_link(const char *place, const char *bundle);
