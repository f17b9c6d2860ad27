/* SPDX-License-Identifier: MIT */

/* What the profile shares with ~/.claude: links to exactly ~/.claude/<name> lead to the same place in the guest, read-only. Any
 * other link in the profile may be a guest's work, and is not followed. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/plan.h"
#include "launch/profile-links.h"

/* ~/.claude/<name> may itself be a link of the user's, and that is where it leads. A link on the way there is another matter: a
 * guest may have made it, in what was its work root. Then it must not lead to what no sandbox may have. 1: all well; 0; -ENOMEM. */
static int target_is_sound(const Plan *p, const char *target, const char *real) {
        _cleanup_free_ char *place = NULL, *dir = NULL, *usual = NULL;
        char path[PATH_MAX], link[PATH_MAX];
        const char *why;
        ssize_t n;
        int r;

        dir = path_join(p->request->dirs->home, ".claude");
        if (!dir)
                return -ENOMEM;
        usual = realpath(dir, NULL);
        if (!usual)
                return 0;
        (void) snprintf(path, sizeof(path), "%s/%s", usual, path_last(target));
        n = readlink(path, link, sizeof(link) - 1);
        link[MAX(n, (ssize_t) 0)] = '\0';
        if (streq(real, n < 0 ? path : link))
                return 1;

        r = plan_find_refusal(p, real, &why, &place);
        return r < 0 ? r : r == 0;
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

        real = realpath(target, NULL);
        if (!real) {
                log_warning("%s/%s is a link to %s, which does not exist.", profile->path, name, shown);
                return 0;
        }
        r = target_is_sound(p, target, real);
        if (r < 0)
                return r;
        if (r == 0) {
                log_warning("%s is reached by way of several links and leads to what no sandbox may have; it is left out.", shown);
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
