/* SPDX-License-Identifier: MIT */

#include <stdio.h>

#include "basic/alloc.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/complete.h"
#include "launch/image-build.h"
#include "launch/launch-list.h"
#include "launch/profile-links.h"
#include "launch/verbs.h"
#include "shared/limits.h"
#include "shared/profile.h"

typedef struct Completer {
        const char *word;   /* that is being typed */
        const char *prefix; /* of all candidates: "--option=", or nothing */
        bool behind_dashes; /* a "--" stands before it */
        char **lines;
} Completer;

static int add(Completer *c, const char *candidate, const char *description) {
        _cleanup_free_ char *shown = str_escape(description ?: "");

        if (!shown)
                return -ENOMEM;
        return strv_addf(&c->lines, "%s%s%s%s", c->prefix, candidate, *shown ? "\t" : "", shown);
}

/* Those who have a broken configuration, or no home, get to know elsewhere. */
static int load(Dirs **ret_dirs, Settings **ret_settings) {
        _cleanup_free_ char *error = NULL;
        int r;

        r = dirs_load(ret_dirs);
        return r < 0 ? r : settings_load(*ret_dirs, NULL, ret_settings, &error);
}

static int add_profiles(Completer *c) {
        _cleanup_strv_ char **names = NULL, **odd = NULL;
        _cleanup_settings_ Settings *settings = NULL;
        _cleanup_dirs_ Dirs *dirs = NULL;
        int r;

        r = load(&dirs, &settings);
        if (r >= 0)
                r = profile_list(settings, &names, &odd);
        if (r < 0)
                return r == -ENOMEM ? r : 0;

        STRV_FOREACH(name, names) {
                r = add(c, *name, "profile");
                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_launches(Completer *c) {
        _cleanup_launch_list_ LaunchList list = { 0 };
        _cleanup_dirs_ Dirs *dirs = NULL;
        int r;

        r = dirs_load(&dirs);
        if (r >= 0)
                r = launch_list_load(dirs, NULL, NULL, &list);
        if (r < 0)
                return r == -ENOMEM ? r : 0;

        for (size_t i = 0; i < list.n; i++) {
                _cleanup_free_ char *description = NULL;

                r = asprintf_to(&description, "launch of %s in %s", list.items[i].profile, list.items[i].directory ?: "?");
                if (r >= 0)
                        r = add(c, list.items[i].id, description);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_launches_and_profiles(Completer *c) {
        int r;

        r = add_launches(c);
        return r < 0 ? r : add_profiles(c);
}

static int add_links(Completer *c) {
        for (const char *const *name = profile_link_names; *name; name++) {
                int r;

                r = add(c, *name, NULL);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_image_bases(Completer *c) {
        for (ImageBase b = 0; b < _IMAGE_BASE_MAX; b++) {
                int r;

                r = add(c, image_base_to_string(b), NULL);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* A value follows, which the shells leave room for. */
static int add_limits(Completer *c) {
        for (LimitId id = 0; id < _LIMIT_MAX; id++) {
                char name[64];
                int r;

                (void) snprintf(name, sizeof(name), "%s=", limit_name(id));
                r = add(c, name, limit_expectation(id));
                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_files(Completer *c) {
        return strv_add(&c->lines, COMPLETE_FILES);
}

/* A program, and then what it is called with. */
static int add_command(Completer *c) {
        return c->behind_dashes ? strv_add(&c->lines, COMPLETE_PROGRAMS) : add(c, "--", "a command follows");
}

/* What --help calls an argument, and where candidates for it come from. For others there are none. */
static const struct {
        const char *placeholder;
        int (*add)(Completer *c);
} sources[] = {
        { "NAME", add_profiles },
        { "LAUNCH|PROFILE", add_launches_and_profiles },
        { "DIRECTORY", add_links },
        { "DISTRIBUTION", add_image_bases },
        { "LIMIT", add_limits },
        { "PATH", add_files },
        { "CLAUDE ARGUMENT…", add_files },
        { "PODMAN OPTION…", add_files },
        { "-- COMMAND…", add_command },
};

static int add_for_placeholder(Completer *c, const char *placeholder, size_t n) {
        for (size_t i = 0; i < ELEMENTSOF(sources); i++)
                if (strlen(sources[i].placeholder) == n && memcmp(sources[i].placeholder, placeholder, n) == 0)
                        return sources[i].add(c);

        return 0;
}

/* Takes the next argument off what --help says of a command's: "NAME", "[DIRECTORY]", "[CLAUDE ARGUMENT…]". */
static size_t next_placeholder(const char **arguments, const char **ret) {
        const bool optional = **arguments == '[';
        size_t n;

        *ret = *arguments + optional;
        n = strcspn(*ret, optional ? "]" : " ");
        *arguments = *ret + n + (optional && (*ret)[n] == ']');
        *arguments += **arguments == ' ';
        return n;
}

/* `position`: of the argument. What is behind the last one, where any number may follow, is another program's. */
static int add_arguments(Completer *c, const Verb *verb, size_t position) {
        const char *arguments = verb->arguments, *placeholder = "";
        size_t n = 0;

        for (size_t i = 0; i <= position; i++) {
                if (*arguments)
                        n = next_placeholder(&arguments, &placeholder);
                else if (verb->max != ANY_NUMBER)
                        return 0;
                else
                        return add_files(c);
        }

        return add_for_placeholder(c, placeholder, n);
}

static int add_option(Completer *c, const Option *o) {
        char name[64];

        (void) snprintf(name, sizeof(name), "--%s", o->name);
        return add(c, name, o->help);
}

static int add_options(Completer *c, const Verb *verb) {
        for (const Option *o = verb->options; o && o->name; o++) {
                int r;

                r = add_option(c, o);
                if (r < 0)
                        return r;
        }

        return add_option(c, &verb_help_option);
}

/* "--option=" and what is being typed behind it. */
static int add_option_value(Completer *c, const Option *o) {
        _cleanup_free_ char *prefix = NULL;
        int r;

        r = asprintf_to(&prefix, "--%s=", o->name);
        if (r < 0)
                return r;

        c->prefix = prefix;
        r = add_for_placeholder(c, o->argument, strlen(o->argument));
        c->prefix = "";
        return r;
}

/* Goes through the words as the commands' own parser does (verb.c), up to the last one. */
static int add_for_verb(Completer *c, const Verb *verb, char *const *words) {
        const bool first = verb->flags & (VERB_OPTIONS_FIRST | VERB_FOREIGN_OPTIONS);
        const Option *pending = NULL; /* its argument comes next */
        bool options = true;
        const char *value;
        size_t position = 0;

        for (; words[1]; words++) {
                const Option *o = options && words[0][0] == '-' ? verb_find_option(verb, *words, &value) : NULL;

                if (pending) {
                        pending = NULL;
                        continue;
                }
                if (o) {
                        pending = o->argument && !value ? o : NULL;
                        continue;
                }
                if (streq(*words, "--") && !c->behind_dashes) {
                        c->behind_dashes = true;
                        options = false;
                        continue;
                }
                if (options && words[0][0] == '-' && !first)
                        continue; /* there is no such option; that will be said later */
                options = options && !first;
                position++;
        }

        if (pending)
                return add_for_placeholder(c, pending->argument, strlen(pending->argument));
        if (!options || c->word[0] != '-')
                return add_arguments(c, verb, position);

        pending = verb_find_option(verb, c->word, &value);
        return pending && pending->argument && value ? add_option_value(c, pending) : add_options(c, verb);
}

static int add_first(Completer *c) {
        int r = 0;

        if (c->word[0] == '-') {
                r = add_option(c, &verb_help_option);
                return r < 0 ? r : add(c, "--version", "Show the version");
        }

        for (const Verb *const *v = verb_table; *v && r >= 0; v++)
                r = add(c, (*v)->name, (*v)->help);

        return r < 0 ? r : add_profiles(c);
}

int complete(char *const *words, char ***ret) {
        const size_t n = strv_length(words);
        Completer c = { .word = n > 0 ? words[n - 1] : "", .prefix = "" };
        const Verb *verb;
        int r = 0;

        if (n <= 1)
                r = add_first(&c);
        else if ((verb = verb_find(words[0])))
                r = add_for_verb(&c, verb, words + 1);
        else if (words[0][0] != '-')
                r = add_files(&c); /* a profile, and claude's arguments */
        if (r < 0) {
                strv_free(c.lines);
                return r;
        }

        *ret = c.lines;
        return 0;
}

int complete_print(char *const *words) {
        _cleanup_strv_ char **lines = NULL;

        if (complete(words, &lines) < 0)
                return EXIT_FAILURE;

        STRV_FOREACH(line, lines)
                (void) puts(*line);

        return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
