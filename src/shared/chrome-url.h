/* SPDX-License-Identifier: MIT */
#pragma once

#include "basic/macro.h"

#define CHROME_URL_MAX 2048

/* Whether a guest may have the host's browser open the `n` bytes as a URL: https, host exactly clau.de or
 * claude.ai, path /chrome or below it. Judged byte by byte as it stands, so that nothing a browser would
 * repair, decode or normalize first can make another page of it. Pure. */
bool chrome_url_is_allowed(const char *url, size_t n);
