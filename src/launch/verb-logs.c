/* SPDX-License-Identifier: MIT */

/* Becomes journalctl. The entries of a launch are those that carry its id, what the manager says about its units, and what its bridge
 * says on standard error, should it fail. What podman writes there about containers is left out. */

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
#define WORD_SHOWN 80 /* bytes, in a message */
#define JOURNAL_USEC (60 * USEC_PER_SEC)
#define JOURNAL_OUTPUT_MAX (16 * MIB)

static int ask_journal(char *const *argv, char **ret) {
        int r;

        r = subprocess_run(&(Subprocess) { .argv = argv, .env = environ, .timeout_usec = JOURNAL_USEC, .output_max = JOURNAL_OUTPUT_MAX },
                        ret, NULL);
        return r > 0 ? -EIO : r;
}

/* A launch that has ended is known to the journal alone. */
static int find_ended(const char *prefix, char **ret_id) {
        char *const argv[] = { (char *) "journalctl", (char *) "--user", (char *) "--quiet", (char *) "--field=CLAUDE_LAUNCH", NULL };
        _cleanup_free_ char *output = NULL;
        char *save = NULL, *found = NULL;
        int r;

        r = ask_journal(argv, &output);
        if (r < 0)
                return r;

        for (char *s = strtok_r(output, "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
                if (!str_after_prefix(s, prefix) || !hex_is_valid(s, LAUNCH_ID_LENGTH))
                        continue;
                if (found)
                        return -ENOTUNIQ;
                found = s;
        }

        return found ? strdup_to(ret_id, found) : -ENOENT;
}

/* Any program of the user can write entries, so it is only believed if it can be a profile's name. */
static int find_profile(const char *id, char **ret) {
        _cleanup_strv_ char **argv = NULL;
        _cleanup_free_ char *output = NULL;
        int r;

        r = strv_add_many(&argv, "journalctl", "--user", "--quiet", "--lines=1", "--output=cat", "--output-fields=CLAUDE_PROFILE", NULL);
        if (r >= 0)
                r = strv_addf(&argv, "CLAUDE_LAUNCH=%s", id);
        if (r >= 0)
                r = ask_journal(argv, &output);
        if (r < 0)
                return r;

        output[strcspn(output, "\n")] = '\0';
        return profile_name_is_valid(output) ? strdup_to(ret, output) : -ENOENT;
}

/* One more alternative. */
static int add_match(char ***argv, const char *field, const char *value) {
        int r;

        r = strv_add(argv, "+");
        return r < 0 ? r : strv_addf(argv, "%s=%s", field, value);
}

static int add_launch(const char *profile, const char *id, char ***argv) {
        _cleanup_launch_units_ LaunchUnits u = { 0 };
        int r;

        r = launch_units_make(profile, id, &u);
        if (r >= 0)
                r = strv_addf(argv, "CLAUDE_LAUNCH=%s", id);
        if (r >= 0)
                r = add_match(argv, "USER_UNIT", u.scope);
        if (r >= 0)
                r = add_match(argv, "USER_UNIT", u.socket);
        if (r >= 0)
                r = add_match(argv, "USER_UNIT", u.bridge);
        if (r >= 0)
                r = add_match(argv, "_SYSTEMD_USER_UNIT", u.bridge);

        return r;
}

static int add_profile(const char *name, char ***argv) {
        _cleanup_free_ char *supervisor = NULL;
        int r;

        r = asprintf_to(&supervisor, "claude-sandbox@%s.service", name);
        if (r >= 0)
                r = strv_addf(argv, "CLAUDE_PROFILE=%s", name);

        return r < 0 ? r : add_match(argv, "USER_UNIT", supervisor);
}

/* Which running or ended launch the word means; -ENOENT, -ENOTUNIQ. */
static int find_launch(const Command *c, const char *word, char **ret_profile, char **ret_id) {
        _cleanup_launch_list_ LaunchList list = { 0 };
        const size_t n = strlen(word);
        int r;

        if (n < PREFIX_MIN || n > LAUNCH_ID_LENGTH || strspn(word, "0123456789abcdef") != n)
                return -ENOENT;

        r = launch_list_load(c->dirs, NULL, NULL, &list);
        if (r >= 0)
                r = launch_list_select(&list, word);
        if (r == -ENOTUNIQ)
                return r;
        if (r >= 0) {
                r = strdup_to(ret_profile, list.items[0].profile);
                return r < 0 ? r : strdup_to(ret_id, list.items[0].id);
        }

        r = n == LAUNCH_ID_LENGTH ? strdup_to(ret_id, word) : find_ended(word, ret_id);
        return r < 0 ? r : find_profile(*ret_id, ret_profile);
}

/* Whom the word means, as `stop` takes it, and launches that have ended: adds what the journal is to look for. */
static int add_matches(const Command *c, const char *word, char ***argv) {
        _cleanup_free_ char *profile = NULL, *id = NULL;
        _cleanup_profile_ Profile *p = NULL;
        int r;

        if (profile_open(c->settings, word, &p) >= 0)
                return add_profile(word, argv);

        r = find_launch(c, word, &profile, &id);
        return r < 0 ? r : add_launch(profile, id, argv);
}

static int run(const Command *c) {
        static const char *const options_of_journalctl[][2] = {
                { "follow", "--follow" },
                { "explain", "--catalog" },
                { "json", "--output=json" },
        };
        const char *word = c->args[0];
        _cleanup_free_ char *shown = str_escape_n(word, strlen(word), WORD_SHOWN);
        _cleanup_strv_ char **argv = NULL;
        int r;

        r = strv_add_many(&argv, "journalctl", "--user", NULL);
        for (size_t i = 0; i < ELEMENTSOF(options_of_journalctl) && r >= 0; i++)
                if (command_has(c, options_of_journalctl[i][0]))
                        r = strv_add(&argv, options_of_journalctl[i][1]);
        if (r >= 0)
                r = add_matches(c, word, &argv);
        if (r == -ENOTUNIQ)
                return log_error(r, "\"%s\" is how the ids of several launches begin.", shown ?: "?");
        if (r == -ENOENT)
                return log_error(r, "\"%s\" is neither a profile nor a launch that the journal knows.", shown ?: "?");
        if (r < 0)
                return log_error(r, "Cannot read the journal");

        (void) execvp(argv[0], argv);
        return log_error(-errno, "Cannot execute journalctl");
}

static const Option options[] = {
        { 'f', "follow", NULL, "Go on with what is being added" },
        { 0, "json", NULL, "Print each entry as JSON" },
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
