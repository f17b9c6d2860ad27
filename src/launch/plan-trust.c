/* SPDX-License-Identifier: MIT */

/* Certificate authorities that were added to the host, for a proxy that re-signs TLS, say: the directory with them, and the one
 * with what the host's tools made of all authorities, at their own places. So nothing has to be made anew in each guest, which
 * takes seconds.
 *
 * The image may be of another distribution and read another place. Variables name the bundle to the programs that look for such a
 * variable, in any image. For the others the guest's entry point puts a link to the bundle where the image has its own
 * (guest/trust.c); that is also why these are not mounted over each other's places here: which one an image has, and behind which
 * links, only it can see. */

#include <sys/stat.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/strv.h"
#include "launch/anchors.h"
#include "launch/plan.h"

/* git has a variable of its own because Debian's knows no other. */
static const char *const bundle_variables[] = { "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", GUEST_ENV_TRUST };

static int add_directory(Plan *p, const char *root, const char *path, MountFlags flags, const char *why) {
        _cleanup_free_ char *outside = NULL, *source = NULL;
        int r;

        r = asprintf_to(&outside, "%s%s", root, path);
        if (r < 0)
                return r;
        source = plan_resolve(outside);
        if (!source)
                return -ENOMEM;

        /* Never relabelled: the host's own programs must still read them. */
        return plan_add_mount(p, MOUNT_BIND, source, path, flags | MOUNT_READ_ONLY, why);
}

static int add_layout(Plan *p, const char *root, const TrustLayout *l) {
        int r;

        r = add_directory(p, root, l->anchors, 0, "certificate authorities added to the host");
        if (r >= 0)
                r = add_directory(p, root, l->extracted, MOUNT_LINKED, "all certificate authorities of the host");
        for (size_t i = 0; i < ELEMENTSOF(bundle_variables) && r >= 0; i++)
                r = strv_addf(&p->guest_env, "%s=%s", bundle_variables[i], l->bundle);

        return r;
}

int plan_trust_below(Plan *p, const char *root) {
        for (size_t i = 0; i < TRUST_LAYOUTS; i++) {
                const TrustLayout *l = &trust_layouts[i];
                _cleanup_free_ char *anchors = NULL, *bundle = NULL;
                struct stat st;
                int r;

                if (asprintf_to(&anchors, "%s%s", root, l->anchors) < 0 || asprintf_to(&bundle, "%s%s", root, l->bundle) < 0)
                        return log_oom();
                if (!anchors_exist(anchors, l->suffix))
                        continue;
                if (stat(bundle, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
                        log_warning("This host has certificate authorities of its own in %s and no %s: the sandbox does not trust them. "
                                        "Run update-ca-certificates or update-ca-trust as root.", anchors, bundle);
                        continue;
                }

                r = add_layout(p, root, l);
                return r < 0 ? log_oom() : 0;
        }

        return 0;
}

int plan_trust(Plan *p) {
        return plan_trust_below(p, "");
}
