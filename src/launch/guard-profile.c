/* SPDX-License-Identifier: MIT */

/* Guards in the profile. Only claude and this program put files there, so a link in the way is no dotfile of the user's but, most
 * likely, a guest's: it is replaced, and never read through. */

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "launch/guards.h"
#include "launch/shared-settings.h"

#define SETTINGS "settings.json"

/* What it is, without the rules that would keep the guest's claude from working in its own sandbox. `there`: else it will be what
 * a launch creates. */
static int guard_settings(Plan *p, const GuardPlace *place, const TrustedThing *thing, bool there) {
        _cleanup_free_ char *text = NULL, *cut = NULL, *why = NULL;
        size_t n, n_cut;
        int r;

        if (there) {
                r = guard_read(place, thing->name, &text, &n);
                if (r < 0)
                        return r;
        } else {
                text = strdup(thing->created);
                if (!text)
                        return log_oom();
                n = strlen(text);
        }

        r = settings_without_host_rules(text, n, &cut, &n_cut, &why);
        if (r == -EBADMSG) {
                log_warning("%s/" SETTINGS ": %s. The sandbox gets it as it is, with any rules that do not fit there.", place->path,
                                why ?: "it is no JSON");
                cut = TAKE_PTR(text);
                n_cut = n;
        } else if (r < 0)
                return log_oom();

        return guard_with_data(p, place, thing->name, TAKE_PTR(cut), n_cut, thing->why);
}

/* Plans that something is put there first, if need be. 1: then, or as it is, it is to be guarded. */
static int prepare(Plan *p, const GuardPlace *place, const TrustedThing *thing, bool *ret_there) {
        _cleanup_close_ int fd = -EBADF;
        char link[PATH_MAX];
        struct stat st;
        ssize_t n;

        *ret_there = false;
        fd = guard_open(place->fd, thing->name);
        if (fd == -ENOENT && !thing->created)
                return 0;
        if (fd == -ENOENT)
                return plan_add_creation(p, thing, NULL) < 0 ? log_oom() : 1;
        if (fd < 0 || fstat(fd, &st) < 0)
                return log_error(fd < 0 ? fd : -errno, "Cannot look at %s/%s", place->path, thing->name);
        if (!S_ISLNK(st.st_mode) || thing->link != TRUST_LINK_REPLACED) {
                *ret_there = true;
                return guard_check(place, thing->name, thing);
        }

        n = readlinkat(fd, "", link, sizeof(link) - 1);
        if (n < 0)
                return log_error(-errno, "Cannot read the link %s/%s", place->path, thing->name);
        link[n] = '\0';
        return plan_add_creation(p, thing, link) < 0 ? log_oom() : 1;
}

int guard_profile(Plan *p) {
        _cleanup_free_ char *path = plan_resolve(p->request->profile->path);
        const GuardPlace place = { .fd = p->request->profile->fd, .path = path, .target = GUEST_CLAUDE_DIR };

        if (!path)
                return log_oom();

        for (size_t i = 0; i < n_trusted_things; i++) {
                const TrustedThing *thing = &trusted_things[i];
                bool there;
                int r;

                if (thing->place != TRUST_PROFILE || thing->treatment == TRUST_REPORT)
                        continue;

                r = prepare(p, &place, thing, &there);
                if (r > 0)
                        r = streq(thing->name, SETTINGS) ? guard_settings(p, &place, thing, there) :
                                guard_apply(p, &place, thing->name, thing);
                if (r < 0)
                        return r;
        }

        return 0;
}
