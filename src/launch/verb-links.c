/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/log.h"
#include "basic/str.h"
#include "launch/profile-links.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"

typedef struct Links {
        const Command *command;
        const Profile *profile;
        bool all; /* no directory was named */
} Links;

static int read_state(const Links *l, const char *name, LinkState *ret, char **ret_shown) {
        _cleanup_free_ char *target = NULL;
        int r;

        r = profile_link_read(l->profile->fd, l->command->dirs->home, name, ret, &target);
        if (r < 0)
                return log_error(r, "Cannot look at %s/%s", l->profile->path, name);

        *ret_shown = str_escape(target ?: "");
        return *ret_shown ? 0 : log_oom();
}

static int show(const Links *l, const char *name) {
        static const char *const texts[_LINK_STATE_MAX] = {
                [LINK_NONE] = "not there",
                [LINK_GLOBAL] = "linked to ",
                [LINK_ELSEWHERE] = "a link to somewhere else: ",
                [LINK_DIRECTORY] = "the profile's own",
                [LINK_ODD] = "no directory",
        };
        _cleanup_free_ char *target = NULL;
        LinkState state;
        int r;

        r = read_state(l, name, &state, &target);
        if (r < 0)
                return r;

        (void) printf("%-10s %s%s\n", name, texts[state], target);
        return 0;
}

static int make(const Links *l, const char *name) {
        _cleanup_free_ char *target = NULL;
        int r;

        target = profile_link_target(l->command->dirs->home, name);
        if (!target)
                return log_oom();

        if (access(target, F_OK) < 0) {
                if (!l->all)
                        return log_error(-errno, "There is no %s to link to", target);
                (void) printf("%-10s left out, there is no %s\n", name, target);
                return 0;
        }

        r = profile_link_make(l->profile->fd, l->command->dirs->home, name);
        if (r == -ENOTEMPTY)
                return log_error(r, "%s/%s has files of its own. Move them away first.", l->profile->path,
                                name);
        if (r == -EEXIST)
                return log_error(r, "%s/%s is in the way: neither a link nor a directory.", l->profile->path,
                                name);
        if (r < 0)
                return log_error(r, "Cannot make the link %s/%s", l->profile->path, name);

        return show(l, name);
}

static int drop(const Links *l, const char *name) {
        _cleanup_free_ char *target = NULL;
        LinkState state;
        int r;

        r = read_state(l, name, &state, &target);
        if (r < 0)
                return r;

        if ((state == LINK_GLOBAL || state == LINK_ELSEWHERE) && unlinkat(l->profile->fd, name, 0) < 0)
                return log_error(-errno, "Cannot remove the link %s/%s", l->profile->path, name);

        return show(l, name);
}

static int check_name(const Command *c, const char *name) {
        _cleanup_free_ char *shown = NULL;

        for (const char *const *n = profile_link_names; *n; n++)
                if (streq(*n, name))
                        return 0;

        shown = str_escape_n(name, strlen(name), 80);
        return usage_error(c->verb, "commands, skills and hooks can be links, \"%s\" cannot", shown ?: "?");
}

static int run(const Command *c) {
        const bool link = command_has(c, "link"), unlink = command_has(c, "unlink");
        int (*const act)(const Links *, const char *) = link ? make : unlink ? drop : show;
        _cleanup_profile_ Profile *p = NULL;
        Links l = { .command = c, .all = !c->args[1] };
        int r;

        if (link && unlink)
                return usage_error(c->verb, "either --link or --unlink");
        if (!l.all) {
                r = check_name(c, c->args[1]);
                if (r != 0)
                        return r;
        }

        r = command_open_profile(c, &p);
        if (r < 0)
                return r;
        l.profile = p;

        if (!l.all)
                r = act(&l, c->args[1]);
        else
                for (const char *const *n = profile_link_names; *n; n++) {
                        int k = act(&l, *n);

                        r = MIN(r, k);
                }

        return r < 0 ? r : EXIT_SUCCESS;
}

static const Option options[] = {
        { 0, "link", NULL, "Link to the directory in ~/.claude" },
        { 0, "unlink", NULL, "Remove the link" },
        { 0 },
};

const Verb verb_links = {
        .name = "links",
        .arguments = "NAME [DIRECTORY]",
        .min = 1,
        .max = 2,
        .flags = VERB_PROFILE,
        .options = options,
        .help = "Show or change what is shared with ~/.claude",
        .details = "DIRECTORY is commands, skills or hooks; without it, all three.",
        .run = run,
};
