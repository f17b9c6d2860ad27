/* SPDX-License-Identifier: MIT */

/* The file is changed as text: what the user wrote besides stays. No message shows a value. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/env-edit.h"
#include "shared/env-file.h"
#include "shared/replace-file.h"

typedef struct Change {
        const Command *command;
        const Profile *profile;
        char *path;
        char **set;
        char **unset;
        bool running; /* a launch of the profile, in its sandbox */
        bool exists;  /* the file */
} Change;

static void change_clear(Change *c) {
        free(c->path);
        strv_free(c->set);
        strv_free(c->unset);
}
#define _cleanup_change_ _cleanup_(change_clear)

/* A variable that may stand in the file: 0 or EXIT_USAGE. What follows "=" is not shown. */
static int check_name(const Verb *verb, const char *option, const char *name, size_t n) {
        const char *reserved;

        if (!env_name_is_valid(name, n))
                return usage_error(verb,
                                "behind %s stands the name of a variable: letters, digits and \"_\"",
                                option);

        reserved = env_name_reserved(name, n);
        if (reserved)
                return usage_error(verb, "%.*s cannot be set here: it %s", (int) n, name, reserved);
        if (str_after_prefix(name, "CLAUDE_PROFILE_"))
                return usage_error(verb, "%.*s is a setting of claude-profile and would have no effect here",
                                (int) n, name);

        return 0;
}

static int check_set(const Verb *verb, const char *entry) {
        const size_t n = strcspn(entry, "=");
        int r;

        if (entry[n] == '\0')
                return usage_error(verb, "behind --set stands KEY=VALUE");

        r = check_name(verb, "--set", entry, n);
        if (r != 0)
                return r;

        if (!utf8_is_valid(entry, strlen(entry)))
                return usage_error(verb, "the value of %.*s is not UTF-8 text", (int) n, entry);

        return 0;
}

static int check(const Change *c) {
        const Verb *verb = c->command->verb;
        int r;

        STRV_FOREACH(entry, c->set) {
                r = check_set(verb, *entry);
                if (r != 0)
                        return r;
        }

        STRV_FOREACH(name, c->unset) {
                if (!env_name_is_valid(*name, strlen(*name)))
                        return usage_error(verb, "behind --unset stands the name of a variable");
                if (strv_env_get(c->set, *name))
                        return usage_error(verb, "%s cannot be set and removed at once", *name);
        }

        return 0;
}

static int read_text(Change *c, char **ret, size_t *ret_n) {
        int r;

        r = io_read_file_at(c->profile->fd, PROFILE_ENV_FILE, ENV_FILE_MAX, ret, ret_n);
        c->exists = r != -ENOENT;
        if (r == -ENOENT) {
                *ret_n = 0;
                *ret = strdup("");
                return *ret ? 0 : log_oom();
        }
        if (r == -ELOOP)
                return log_error(r,
                                "%s is a link, and a sandbox could have made it: put a regular file there.",
                                c->path);
        if (r == -ENOTREG)
                return log_error(r, "%s is not a regular file.", c->path);
        if (r < 0)
                return log_error(r, "Cannot read %s", c->path);
        if (!utf8_is_valid(*ret, *ret_n))
                return log_error(-EBADMSG, "%s is not UTF-8 text, so it is not changed. Save it as UTF-8.",
                                c->path);

        return 0;
}

/* What a launch would say of the new text. */
static void remark(const Change *c, const char *text, size_t n) {
        _cleanup_strv_ char **env = NULL, **warnings = NULL;
        _cleanup_free_ char *error = NULL;

        if (env_parse(text, n, &env, &warnings, &error) < 0 && error)
                log_warning("%s: %s. No launch will begin with this.", c->path, error);
}

/* While a launch runs, its sandbox has the file mounted: a new file in its place would lift that. */
static int save(const Change *c, const char *text, size_t n) {
        int r;

        if (c->running && c->exists)
                r = overwrite_file_at(c->profile->fd, PROFILE_ENV_FILE, 0600, text, n);
        else
                r = replace_file_at(c->profile->fd, PROFILE_ENV_FILE, 0600, text, n);

        return r < 0 ? log_error(r, "Cannot write %s", c->path) : 0;
}

static int change(Change *c) {
        _cleanup_free_ char *before = NULL, *after = NULL;
        _cleanup_close_ int lock = -EBADF;
        size_t n_before, n_after;
        int r;

        lock = command_lock(c->command);
        if (lock < 0)
                return lock;

        r = command_is_running(c->command, c->profile->name);
        if (r < 0)
                return r;
        c->running = r > 0;

        r = read_text(c, &before, &n_before);
        if (r < 0)
                return r;

        STRV_FOREACH(name, c->unset)
                if (!env_text_has(before, n_before, *name))
                        log_notice("%s is not in %s.", *name, c->path);

        r = env_edit(before, n_before, c->set, c->unset, &after, &n_after);
        if (r < 0)
                return log_oom();
        if (n_after == n_before && memcmp(before, after, n_before) == 0)
                return 0;
        if (n_after > ENV_FILE_MAX)
                return log_error(-EFBIG, "%s would be larger than 4 MiB.", c->path);

        r = save(c, after, n_after);
        if (r < 0)
                return r;

        remark(c, after, n_after);
        if (c->running)
                log_notice("A launch of %s is running: it keeps the variables it began with.",
                                c->profile->name);

        return 0;
}

static int print_variable(const char *entry, bool terminal) {
        const char *value = entry + strcspn(entry, "=") + 1;
        _cleanup_free_ char *quoted = NULL, *shown = NULL;

        quoted = env_quote(value);
        shown = quoted && terminal ? str_escape(quoted) : NULL;
        if (!quoted || (terminal && !shown))
                return log_oom();

        (void) printf("%.*s%s\n", (int) (value - entry), entry, shown ?: quoted);
        return 0;
}

static int show(const Change *c) {
        _cleanup_strv_ char **env = NULL, **warnings = NULL;
        _cleanup_free_ char *error = NULL;
        int r;

        r = env_file_load(c->profile->fd, c->path, &env, &warnings, &error);
        if (r < 0)
                return error ? log_error(r, "%s.", error) : log_oom();

        STRV_FOREACH(w, warnings)
                log_warning("%s.", *w);

        STRV_FOREACH(entry, env) {
                r = print_variable(*entry, isatty(STDOUT_FILENO));
                if (r < 0)
                        return r;
        }

        return 0;
}

static int run(const Command *command) {
        _cleanup_profile_ Profile *p = NULL;
        _cleanup_change_ Change c = { .command = command };
        int r;

        if (command_values(command, "set", &c.set) < 0 || command_values(command, "unset", &c.unset) < 0)
                return log_oom();

        r = check(&c);
        if (r != 0)
                return r;

        r = command_open_profile(command, &p);
        if (r < 0)
                return r;

        c.profile = p;
        c.path = profile_file(p, PROFILE_ENV_FILE);
        if (!c.path)
                return log_oom();

        r = c.set || c.unset ? change(&c) : show(&c);
        return r < 0 ? r : EXIT_SUCCESS;
}

static const Option options[] = {
        { 0, "set", "KEY=VALUE", "Set a variable; may be given several times" },
        { 0, "unset", "KEY", "Remove a variable; may be given several times" },
        { 0 },
};

const Verb verb_env = {
        .name = "env",
        .arguments = "NAME",
        .min = 1,
        .max = 1,
        .flags = VERB_PROFILE,
        .options = options,
        .help = "Show or change the profile's variables",
        .details = "They are in the file .env of the profile, which you can edit as well: a value on the "
                   "command line is seen by other users and kept in the shell's history.",
        .run = run,
};
