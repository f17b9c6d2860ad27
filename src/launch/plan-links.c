/* SPDX-License-Identifier: MIT */

/* What the profile shares with ~/.claude: links to exactly ~/.claude/<name> lead to the same place in the guest, read-only. Any
 * other link in the profile may be a guest's work, and is not followed. */

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/plan.h"
#include "launch/profile-links.h"

/* ~/.claude/<name> may itself be a link of the user's, to dotfiles, say, and that is where it leads. A further link on the way there
 * is another matter: some guest may have made it, in what was its work root, and it could lead to anything. `*ret` is where the
 * user's link leads when no other is on the way; else NULL. 0 or -ENOMEM. */
static int follow_one_link(const Plan *p, const char *name, char **ret) {
        _cleanup_free_ char *dir = path_join(p->request->dirs->home, ".claude"), *usual = NULL, *path = NULL, *home = NULL;
        _cleanup_close_ int fd = -EBADF;
        char link[PATH_MAX];
        const char *rest;
        ssize_t n;

        usual = dir ? plan_resolve(dir) : NULL;
        home = plan_resolve(p->request->dirs->home);
        path = usual ? path_join(usual, name) : NULL;
        if (!path || !home)
                return -ENOMEM;

        n = readlink(path, link, sizeof(link) - 1);
        if (n > 0) {
                link[n] = '\0';
                free(TAKE_PTR(path));
                /* The home directory itself may be reached through a link, which is nobody's but the system's. */
                rest = str_after_prefix(link, p->request->dirs->home);
                path = link[0] != '/' ? path_join(usual, link) : rest && *rest == '/' ? path_join(home, rest + 1) : strdup(link);
                if (!path)
                        return -ENOMEM;
        }

        fd = io_open_no_links(path);
        *ret = fd >= 0 ? realpath(path, NULL) : NULL;
        return 0;
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

        if (access(target, F_OK) < 0) {
                log_warning("%s/%s is a link to %s, which does not exist.", profile->path, name, shown);
                return 0;
        }
        r = follow_one_link(p, name, &real);
        if (r < 0)
                return log_oom();
        if (!real) {
                log_warning("%s is reached by way of several links, of which a sandbox could have made one; it is left out.", shown);
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
