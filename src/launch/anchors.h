/* SPDX-License-Identifier: MIT */
#pragma once

/* The host's own certificate authorities: those its administrator added, for a proxy that re-signs TLS, say. */

#include "basic/macro.h"

/* Appends to `fd` every PEM certificate file below `dir`, in the order of their names. `suffix` is what a file's name must
 * end in to count (NULL: any). Files in another form are passed over; `*ret_skipped`, a vector of their paths, is the
 * caller's. Returns how many files were written (0 also when there is no such directory), or negative errno. */
int anchors_append(const char *dir, const char *suffix, int fd, char ***ret_skipped);

/* The same for the places where Debian and Fedora keep them. */
int anchors_append_host(int fd, char ***ret_skipped);
