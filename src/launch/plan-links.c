/* SPDX-License-Identifier: MIT */

/* What the profile shares with ~/.claude: links to exactly ~/.claude/<name> lead to the same place in the guest, read-only. Any
 * other link in the profile may be a guest's work, and is not followed. */

#include <stdio.h>
#include <stdlib.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "launch/open-own.h"
#include "launch/plan.h"
#include "launch/profile-links.h"

/* Where ~/.claude/<name> leads, which may itself be a link of the user's, see open_own(). 0 or negative errno. */
static int find_source(const char *target, char **ret) {
        char proc[STRLEN("/proc/self/fd/") + 12];
        _cleanup_close_ int fd = open_own(target);

        if (fd < 0)
                return fd;

        (void) snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
        *ret = realpath(proc, NULL);
        return *ret ? 0 : -errno;
}

static int add_link(Plan *p, const char *name) {
        const Profile *profile = p->request->profile;
        _cleanup_free_ char *target = NULL, *real = NULL, *shown = NULL;
        LinkState state;
        int r;

        r = profile_link_read(profile->fd, p->request->dirs->home, name, &state, &target);
        if (r < 0)
                return log_error(r, "Cannot read %s/%s", profile->path, name);
        if (state != LINK_GLOBAL && state != LINK_ELSEWHERE)
                return 0;

        shown = str_escape(target);
        if (!shown)
                return log_oom();
        if (state == LINK_ELSEWHERE) {
                log_warning("%s/%s is a link to %s, not to ~/.claude/%s: it leads nowhere in the sandbox. If you did not make it, "
                                "a sandbox may have.", profile->path, name, shown, name);
                return 0;
        }

        r = find_source(target, &real);
        if (r == -ELOOP) {
                plan_warn_of_links(target);
                return 0;
        }
        if (r < 0) {
                log_warning("%s/%s is a link to %s, which cannot be used: %s.", profile->path, name, shown, strerror(-r));
                return 0;
        }

        r = plan_add_mount(p, MOUNT_BIND, real, target, MOUNT_READ_ONLY, "what the profile shares with ~/.claude");
        return r < 0 ? log_oom() : 0;
}

int plan_links(Plan *p) {
        int r = 0;

        for (size_t i = 0; profile_link_names[i] && r >= 0; i++)
                r = add_link(p, profile_link_names[i]);

        return r < 0 ? r : add_link(p, STATUSLINE);
}
