/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/replace-file.h"

static const char *place(bool sandboxed) {
        return sandboxed ? "in a sandbox" : "on the host";
}

/* A marker that is a link is replaced, in one step: what it points at is not touched, and there is one all
 * the time. */
static int set_marker(const Profile *p) {
        struct stat st;

        if (fstatat(p->fd, PROFILE_MARKER, &st, AT_SYMLINK_NOFOLLOW) >= 0 && !S_ISLNK(st.st_mode))
                return 0;

        return replace_file_at(p->fd, PROFILE_MARKER, 0600, NULL, 0);
}

static int clear_marker(const Profile *p) {
        if (unlinkat(p->fd, PROFILE_MARKER, 0) >= 0 || errno == ENOENT)
                return 0;
        if (errno != EISDIR)
                return -errno;

        return unlinkat(p->fd, PROFILE_MARKER, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* A guest has its own view of the marker: it may put it back, which errs on the safe side. */
static int change(const Command *c, const Profile *p, bool on) {
        _cleanup_close_ int lock = -EBADF;
        int r;

        lock = command_lock(c);
        if (lock < 0)
                return lock;

        r = on ? set_marker(p) : clear_marker(p);
        if (r < 0)
                return log_error(r, "Cannot %s the marker %s/%s", on ? "make" : "remove", p->path,
                                PROFILE_MARKER);

        r = command_is_running(c, p->name);
        if (r > 0)
                log_notice("A launch of %s is running in its sandbox; this is for the next one.", p->name);

        return r < 0 ? r : 0;
}

/* What decides, when that is not the marker. */
static int say_override(const Command *c, bool marked) {
        _cleanup_free_ char *origin = NULL;

        if (c->settings->sandbox < 0)
                return 0;

        origin = settings_describe_origin(c->settings, "CLAUDE_PROFILE_SANDBOX");
        if (!origin)
                return log_oom();

        (void) printf("%s decides%s: launches run %s.\n", origin,
                        marked == (c->settings->sandbox > 0) ? "" : ", not the marker",
                        place(c->settings->sandbox));
        return 0;
}

static int run(const Command *c) {
        const bool on = command_has(c, "on"), off = command_has(c, "off");
        _cleanup_profile_ Profile *p = NULL;
        int r;

        if (on && off)
                return usage_error(c->verb, "either --on or --off");

        r = command_open_profile(c, &p);
        if (r >= 0 && (on || off))
                r = change(c, p, on);
        if (r < 0)
                return r;
        if (on || off)
                command_reload_manager(c);

        r = profile_has_marker(p);
        if (r < 0)
                return log_error(r, "Cannot look for the marker %s/%s", p->path, PROFILE_MARKER);

        (void) printf("Profile %s %s %s.\n", p->name, c->settings->sandbox < 0 ? "runs" : "is marked to run",
                        place(r));

        r = say_override(c, r);
        return r < 0 ? r : EXIT_SUCCESS;
}

static const Option options[] = {
        { 0, "on", NULL, "Run the profile in a sandbox" },
        { 0, "off", NULL, "Run it on the host" },
        { 0 },
};

const Verb verb_sandbox = {
        .name = "sandbox",
        .arguments = "NAME",
        .min = 1,
        .max = 1,
        .flags = VERB_PROFILE,
        .options = options,
        .help = "Show or set whether it runs in a sandbox",
        .details = "CLAUDE_PROFILE_SANDBOX, or Sandbox= in a configuration file, decides before this.",
        .run = run,
};
