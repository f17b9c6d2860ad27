/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/wire.h"
#include "guest/trust.h"

/* Debian's and Fedora's bundle; all other places of theirs are links to these. */
static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
};

int trust_link(const char *place, const char *bundle) {
        _cleanup_free_ char *temporary = NULL;
        struct stat is, wanted;
        int r;

        if (stat(bundle, &wanted) < 0)
                return -errno;
        if (stat(place, &is) < 0)
                return errno == ENOENT ? 0 : -errno;
        if (is.st_dev == wanted.st_dev && is.st_ino == wanted.st_ino)
                return 0;

        r = asprintf_to(&temporary, "%s.new", place);
        if (r < 0)
                return r;
        if (symlink(bundle, temporary) < 0)
                return -errno;
        if (rename(temporary, place) < 0) {
                r = -errno;
                (void) unlink(temporary);
                return r;
        }

        return 1;
}

void trust_prepare(void) {
        const char *bundle = getenv(GUEST_ENV_TRUST);

        for (size_t i = 0; i < ELEMENTSOF(places) && !str_is_empty(bundle); i++) {
                int r;

                r = trust_link(places[i], bundle);
                if (r < 0)
                        (void) log_error(r, "Cannot have %s name the certificate authorities of the host", places[i]);
        }
}
