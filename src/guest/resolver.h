/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

/* Whether the text of a resolv.conf(5) names a server. Without one the C library asks the sandbox's own loopback, where nobody
 * answers, and every name fails after a long wait. */
bool resolver_has_server(const char *text);

/* The same of /etc/resolv.conf. Returns 0, -ENOENT if none is named, having said so. A file that cannot be read is not judged. */
int resolver_check(void);
