/* SPDX-License-Identifier: MIT */

/* A sandbox of the profile is started, with all that its settings give to it, in an empty directory, and ends at once. From inside its
 * agents are asked for their keys. What the launch has to say goes on to standard error: that may be a report that nobody has seen yet. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/clock.h"
#include "basic/parse.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/doctor.h"
#include "shared/rm-rf.h"
#include "shared/subprocess.h"

#define SECONDS 60
#define OUTPUT_MAX (256 * KIB)
#define MARK "claude-profile-doctor "
#define OUR_WORDS "claude-profile: "

/* For each agent there is a line: MARK, the service, and in hexadecimal how an answer to SSH_AGENTC_REQUEST_IDENTITIES begins: a length,
 * the type 12, the number of keys. */
static const char script[] = "echo '" MARK "started'\n"
                             "for s in ssh-0 ssh-1; do\n"
                             "        [ -S /run/claude-sandbox/ssh-agent-${s#ssh-}.sock ] || continue\n"
                             "        a=$(printf '\\0\\0\\0\\1\\13' | bridge-connect $s | od -An -v -tx1 -N9 | tr -d ' \\n')\n"
                             "        echo \"" MARK "$s $a\"\n"
                             "done\n";

/* What an agent answered, as half a sentence. True: it listed keys, or that it has none. */
static bool judge_answer(const char *answer, unsigned *ret_keys) {
        return strlen(answer) == 2 * 9 && memcmp(answer + 2 * 4, "0c", 2) == 0 && sscanf(answer + 2 * 5, "%8x", ret_keys) == 1;
}

typedef struct Trial {
        bool started;
        bool silent;    /* an agent does not answer inside, but its socket is there */
        char *agents;   /* "ssh-0 lists 2 keys, …" */
        char *last;     /* of what the launch said, if anything */
} Trial;

static void trial_clear(Trial *t) {
        free(t->agents);
        free(t->last);
}
#define _cleanup_trial_ _cleanup_(trial_clear)

/* "started", or "ssh-0 00000…" */
static int take_marked(Trial *t, const char *line) {
        _cleanup_free_ char *before = NULL;
        const int n = (int) strcspn(line, " ");
        unsigned keys;

        if (streq(line, "started")) {
                t->started = true;
                return 0;
        }

        before = TAKE_PTR(t->agents);
        if (line[n] && judge_answer(line + n + 1, &keys))
                return asprintf_to(&t->agents, "%s%s%.*s lists %u key%s", before ?: "", before ? ", " : "", n, line, keys, keys == 1 ? "" : "s");

        t->silent = true;
        return asprintf_to(&t->agents, "%s%s%.*s does not answer", before ?: "", before ? ", " : "", n, line);
}

/* The image's programs, and the guest, may have written anything. */
static int take_output(Trial *t, char *output) {
        char *save = NULL;

        for (char *line = strtok_r(output, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
                const char *marked = str_after_prefix(line, MARK), *ours = str_after_prefix(line, OUR_WORDS);
                _cleanup_free_ char *shown = NULL;

                if (marked) {
                        if (take_marked(t, marked) < 0)
                                return -ENOMEM;
                        continue;
                }
                shown = str_escape(line);
                if (!shown || strdup_to(&t->last, ours ?: line) < 0)
                        return -ENOMEM;
                (void) fprintf(stderr, "%s\n", shown);
        }

        return 0;
}

static int run_launch(const Doctor *d, const char *directory, char **ret) {
        char *const argv[] = { (char *) "/proc/self/exe", (char *) "shell", (char *) d->profile, (char *) "--", (char *) "sh", (char *) "-c",
                (char *) script, NULL };

        return subprocess_run(&(Subprocess) { .argv = argv, .env = environ, .directory = directory, .timeout_usec = SECONDS * USEC_PER_SEC,
                                              .output_max = OUTPUT_MAX, .merge_errors = true }, ret, NULL);
}

static int judge(const Doctor *d, int r, const Trial *t, uint64_t usec, CheckResult *ret) {
        _cleanup_free_ char *why = NULL, *remedy = NULL;

        if (asprintf_to(&remedy, t->started ? "claude-profile logs %s" : "claude-profile shell %s -- true", d->profile) < 0)
                return -ENOMEM;
        if (r == 0 && t->started && !t->silent)
                return check_ok(ret, "one starts and ends in %.1f s%s%s", (double) usec / (double) USEC_PER_SEC,
                                t->agents ? "; through its bridge " : "", t->agents ?: "");
        if (t->started && t->silent)
                return check_failed(ret, remedy, "one starts, but through its bridge %s", t->agents);

        why = doctor_why(r == 0 ? EXIT_FAILURE : r, SECONDS, t->last);
        return why ? check_failed(ret, remedy, "none starts: the launch %s", why) : -ENOMEM;
}

int check_trial(Doctor *d, CheckResult *ret) {
        char directory[] = "/tmp/claude-profile-doctor-XXXXXX";
        _cleanup_free_ char *output = NULL;
        _cleanup_trial_ Trial t = { 0 };
        uint64_t begin = now_usec();
        int r, k;

        if (!d->profile)
                return check_skipped(ret, "to try one: claude-profile doctor PROFILE");
        if (d->found[CHECK_FAILED] > 0)
                return check_skipped(ret, "what failed above comes first");
        if (!mkdtemp(directory))
                return check_failed(ret, "df /tmp", "there can be no directory in /tmp for one: %s", strerror(errno));

        r = run_launch(d, directory, &output);
        begin = now_usec() - begin;
        k = output ? take_output(&t, output) : 0;
        (void) rm_rf_at(AT_FDCWD, directory);

        return k < 0 ? k : judge(d, r, &t, begin, ret);
}
