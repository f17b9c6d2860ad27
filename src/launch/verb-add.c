/* SPDX-License-Identifier: MIT */

/* A profile is made under a hidden name and gets its own as the last step: there is never half a profile,
 * nor one that should be sandboxed and is not marked yet. */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "launch/profile-links.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/mkdir.h"
#include "shared/replace-file.h"
#include "shared/rm-rf.h"

#define COPY_SIZE_MAX (16 * MIB)
#define LINKS_MAX 8

typedef struct Addition {
        const Command *command;
        const char *name;
        bool sandbox;
        const char *links[LINKS_MAX]; /* what becomes a link, statusline.sh included */
        size_t n_links;
        int base_fd;
        char *temporary; /* in the base */
        int fd;
} Addition;

static void addition_clear(Addition *a) {
        if (a->temporary && a->base_fd >= 0)
                (void) rm_rf_at(a->base_fd, a->temporary);
        free(a->temporary);
        fd_close(a->base_fd);
        fd_close(a->fd);
}
#define _cleanup_addition_ _cleanup_(addition_clear)

static int check_name(const Addition *a) {
        const Settings *s = a->command->settings;
        _cleanup_free_ char *path = NULL;
        struct stat st;

        if (verb_find(a->name))
                return log_error(-EINVAL,
                                "\"%s\" is a command of claude-profile: a profile of that name could only "
                                "be launched with \"run\". Take another name.",
                                a->name);

        path = path_join(s->profiles_base, a->name);
        if (!path)
                return log_oom();
        if (lstat(path, &st) >= 0)
                return log_error(-EEXIST, "%s is there already.", path);

        return 0;
}

static bool global_exists(const Dirs *dirs, const char *name) {
        _cleanup_free_ char *path = profile_link_target(dirs->home, name);

        return path && access(path, F_OK) >= 0;
}

/* What is not in ~/.claude is not linked, as with `links --link`. */
static int choose_links(Addition *a) {
        const Dirs *dirs = a->command->dirs;
        int r;

        for (const char *const *name = profile_link_names; *name; name++) {
                if (!global_exists(dirs, *name))
                        continue;

                r = 1;
                if (can_ask())
                        r = ask(true, "Link %s to %s/.claude/%s?", *name, dirs->home, *name);
                if (r < 0)
                        return r;
                if (r > 0)
                        a->links[a->n_links++] = *name;
        }

        if (global_exists(dirs, STATUSLINE))
                a->links[a->n_links++] = STATUSLINE;

        return 0;
}

static int make_directory(Addition *a) {
        const char *base = a->command->settings->profiles_base;
        _cleanup_free_ char *temporary = NULL;
        int r;

        a->base_fd = mkdir_open(base);
        if (a->base_fd < 0)
                return log_error(a->base_fd, "Cannot make %s", base);

        r = temporary_name("new", &temporary);
        if (r < 0)
                return log_error(r, "Cannot make a name");
        if (mkdirat(a->base_fd, temporary, 0700) < 0)
                return log_error(-errno, "Cannot make a directory in %s", base);
        a->temporary = TAKE_PTR(temporary);

        a->fd = openat(a->base_fd, a->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
        return a->fd < 0 ? log_error(-errno, "Cannot open %s/%s", base, a->temporary) : 0;
}

/* The user's own file, often a link into a collection of dotfiles: links are followed. No sandbox can write
 * there. */
static int copy_global(const Addition *a, const char *name) {
        _cleanup_free_ char *source = NULL, *data = NULL;
        _cleanup_close_ int fd = -EBADF;
        struct stat st;
        size_t n;
        int r;

        source = profile_link_target(a->command->dirs->home, name);
        if (!source)
                return log_oom();

        fd = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
                return errno == ENOENT ? 0 : log_error(-errno, "Cannot open %s", source);
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return log_error(-EINVAL, "%s is not a regular file.", source);

        r = io_read_all(fd, COPY_SIZE_MAX, &data, &n);
        if (r >= 0)
                r = io_write_new_at(a->fd, name, 0600, data, n);

        return r < 0 ? log_error(r, "Cannot copy %s", source) : 0;
}

static int fill_directory(const Addition *a) {
        static const char *const copied[] = { "settings.json", "CLAUDE.md" };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(copied); i++) {
                r = copy_global(a, copied[i]);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < a->n_links; i++) {
                r = profile_link_make(a->fd, a->command->dirs->home, a->links[i]);
                if (r < 0)
                        return log_error(r, "Cannot make the link %s", a->links[i]);
        }

        if (a->sandbox) {
                r = io_write_new_at(a->fd, PROFILE_MARKER, 0600, NULL, 0);
                if (r < 0)
                        return log_error(r, "Cannot make the marker %s", PROFILE_MARKER);
        }

        return 0;
}

/* Not in place of anything: some file systems cannot say so in one step, but an empty directory is all that
 * could be lost. */
static int rename_new(int dir_fd, const char *from, const char *to) {
        struct stat st;

        if (renameat2(dir_fd, from, dir_fd, to, RENAME_NOREPLACE) >= 0)
                return 0;
        if (errno != EINVAL && errno != ENOSYS)
                return -errno;

        if (fstatat(dir_fd, to, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                return -EEXIST;

        return renameat(dir_fd, from, dir_fd, to) < 0 ? -errno : 0;
}

static int name_directory(Addition *a) {
        const char *base = a->command->settings->profiles_base;
        int r;

        r = rename_new(a->base_fd, a->temporary, a->name);
        if (r == -EEXIST)
                return log_error(r, "%s/%s is there already.", base, a->name);
        if (r < 0)
                return log_error(r, "Cannot make %s/%s", base, a->name);

        free(TAKE_PTR(a->temporary));
        return 0;
}

static int run(const Command *c) {
        _cleanup_addition_ Addition a = {
                .command = c,
                .name = c->args[0],
                .sandbox = command_has(c, "sandbox"),
                .base_fd = -EBADF,
                .fd = -EBADF,
        };
        int r;

        r = check_name(&a);
        if (r >= 0)
                r = choose_links(&a);
        if (r >= 0)
                r = make_directory(&a);
        if (r >= 0)
                r = fill_directory(&a);
        if (r >= 0)
                r = name_directory(&a);
        if (r < 0)
                return r;

        if (a.sandbox || c->settings->sandbox > 0)
                command_reload_manager(c);
        (void) printf("Profile %s is ready%s. Launch it: claude-profile %s\n", a.name,
                        a.sandbox ? " and runs in a sandbox" : "", a.name);
        return EXIT_SUCCESS;
}

static const Option options[] = {
        { 's', "sandbox", NULL, "Run it in a sandbox" },
        { 0 },
};

const Verb verb_add = {
        .name = "add",
        .arguments = "NEW-NAME",
        .min = 1,
        .max = 1,
        .flags = VERB_PROFILE,
        .options = options,
        .help = "Make a profile",
        .details = "settings.json and CLAUDE.md are copied from ~/.claude. On a terminal, asks which of "
                   "commands, skills and hooks become links to those in ~/.claude; else all do.",
        .run = run,
};
