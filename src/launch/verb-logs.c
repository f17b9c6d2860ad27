/* SPDX-License-Identifier: MIT */

/* Becomes journalctl, with the fields that all entries of a launch or a profile carry. */

#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"
#include "shared/subprocess.h"

#define PREFIX_MIN 4

static bool is_hex(const char *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!strchr("0123456789abcdef", s[i]))
                        return false;
        return true;
}

/* A launch that has ended is known to the journal alone. */
static int find_ended(const char *prefix, char **ret_id) {
        char *const argv[] = { (char *) "journalctl", (char *) "--user", (char *) "--quiet", (char *) "--field=CLAUDE_LAUNCH", NULL };
        _cleanup_free_ char *output = NULL;
        char *save = NULL, *found = NULL;
        int r;

        r = subprocess_run(&(Subprocess) { .argv = argv, .env = environ, .timeout_usec = 60 * USEC_PER_SEC, .output_max = 16 * MIB },
                        &output, NULL);
        if (r != 0)
                return r < 0 ? r : -EIO;

        for (char *s = strtok_r(output, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
                if (!str_after_prefix(s, prefix))
                        continue;
                if (found)
                        return -ENOTUNIQ;
                found = s;
        }
        if (!found)
                return -ENOENT;

        *ret_id = strdup(found);
        return *ret_id ? 0 : -ENOMEM;
}

/* Whom the word means, as `stop` takes it, with launches that have ended: "CLAUDE_PROFILE=…" or "CLAUDE_LAUNCH=…". */
static int make_match(const Command *c, const char *word, char **ret) {
        _cleanup_launch_list_ LaunchList list = { 0 };
        _cleanup_profile_ Profile *p = NULL;
        _cleanup_free_ char *id = NULL;
        const size_t n = strlen(word);
        int r;

        r = profile_open(c->settings, word, &p);
        if (r >= 0)
                return asprintf_to(ret, "CLAUDE_PROFILE=%s", word);
        if (n == LAUNCH_ID_LENGTH && hex_is_valid(word, n))
                return asprintf_to(ret, "CLAUDE_LAUNCH=%s", word);
        if (n < PREFIX_MIN || n > LAUNCH_ID_LENGTH || !is_hex(word, n))
                return -ENOENT;

        r = launch_list_load(c->dirs, NULL, NULL, &list);
        if (r >= 0)
                r = launch_list_select(&list, word);
        if (r >= 0)
                return asprintf_to(ret, "CLAUDE_LAUNCH=%s", list.items[0].id);
        r = find_ended(word, &id);
        return r < 0 ? r : asprintf_to(ret, "CLAUDE_LAUNCH=%s", id);
}

static int run(const Command *c) {
        _cleanup_free_ char *match = NULL, *shown = str_escape(c->args[0]);
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = make_match(c, c->args[0], &match);
        if (r == -ENOTUNIQ)
                return log_error(r, "\"%s\" is how the ids of several launches begin.", shown ?: "?");
        if (r == -ENOENT)
                return log_error(r, "\"%s\" is neither a profile nor a launch that the journal knows.", shown ?: "?");
        if (r >= 0)
                r = strv_add_many(&argv, "journalctl", "--user", match, NULL);
        if (r >= 0 && command_has(c, "follow"))
                r = strv_add(&argv, "--follow");
        if (r >= 0 && command_has(c, "explain"))
                r = strv_add(&argv, "--catalog");
        if (r < 0)
                return log_error(r, "Cannot read the journal");

        (void) execvp(argv[0], argv);
        return log_error(-errno, "Cannot execute journalctl");
}

static const Option options[] = {
        { 'f', "follow", NULL, "Go on with what is being added" },
        { 'x', "explain", NULL, "Explain entries, from the journal's catalog" },
        { 0 },
};

const Verb verb_logs = {
        .name = "logs",
        .arguments = "LAUNCH|PROFILE",
        .min = 1,
        .max = 1,
        .options = options,
        .help = "Show the journal of a launch, or of a profile",
        .details = "Starts and ends of launches, and every connection that a bridge served or refused; also "
                   "of launches that have ended.",
        .run = run,
};
