/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "launch/doctor.h"
#include "launch/output.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"

#define EXIT_WARNINGS 3 /* 1 is a failure, as everywhere; 2 that the command was called in a wrong way */
#define TEXT_MAX 400    /* bytes */
#define STATE_WIDTH 7
#define NAME_WIDTH 14
#define INDENT (STATE_WIDTH + 2 + NAME_WIDTH + 2)

/* In this order: each may use what those above it have found. */
static const Check checks[] = {
        { "profile", 0, check_profile },
        { "claude", 0, check_claude },
        { "user manager", CHECK_SANDBOX, check_manager },
        { "units", CHECK_SANDBOX | CHECK_BUS, check_units },
        { "generator", CHECK_SANDBOX | CHECK_BUS, check_generator },
        { "control groups", CHECK_SANDBOX | CHECK_BUS, check_cgroups },
        { "podman", CHECK_SANDBOX, check_podman },
        { "runtime", CHECK_SANDBOX | CHECK_PODMAN, check_runtime },
        { "user ids", CHECK_SANDBOX | CHECK_PODMAN, check_user_ids },
        { "image", CHECK_SANDBOX | CHECK_PODMAN, check_image },
        { "network", CHECK_SANDBOX | CHECK_PODMAN, check_network },
        { "kvm", CHECK_SANDBOX, check_kvm },
        { "krun", CHECK_SANDBOX | CHECK_PODMAN, check_krun },
        { "SELinux", CHECK_SANDBOX, check_selinux },
        { "ssh-agent", CHECK_SANDBOX, check_ssh_agent },
        { "1Password", CHECK_SANDBOX, check_onepassword },
        { "gpg-agent", CHECK_SANDBOX, check_gpg_agent },
        { "clipboard", CHECK_SANDBOX, check_clipboard },
        { "browser", CHECK_SANDBOX, check_browser },
        { "a sandbox", CHECK_SANDBOX | CHECK_PODMAN | CHECK_BUS, check_trial },
};

static const char *const state_names[] = {
        [CHECK_OK] = "ok",
        [CHECK_SKIPPED] = "skipped",
        [CHECK_WARNING] = "warning",
        [CHECK_FAILED] = "failed",
};
static_assert(ELEMENTSOF(state_names) == _CHECK_STATE_MAX, "a name for each state");

static const char *colour_of(CheckState state, const Style *style) {
        return state == CHECK_OK ? style->green : state == CHECK_WARNING ? style->yellow : state == CHECK_FAILED ? style->red : "";
}

static void print_for_people(const Check *check, const CheckResult *r) {
        const Style style = output_style();

        (void) printf("%s%-*s%s  %-*s  ", colour_of(r->state, &style), STATE_WIDTH, state_names[r->state], style.reset, NAME_WIDTH, check->name);
        output_wrapped(r->text, INDENT, INDENT);
        (void) putchar('\n');

        /* In one line, however long: a command that is copied must not have been cut. */
        if (r->remedy)
                (void) printf("%*s→ %s%s%s\n", STATE_WIDTH + 2, "", style.bold, r->remedy, style.reset);
}

static void print_for_pipes(const Check *check, const CheckResult *r) {
        (void) printf("%s\t%s\t%s\t%s\n", state_names[r->state], check->name, r->text, r->remedy ?: "");
}

static int add_to_json(Json *array, const Check *check, const CheckResult *r) {
        _cleanup_json_ Json *o = json_object_new_object();
        int k;

        k = o ? json_add_string(o, "check", check->name) : -ENOMEM;
        if (k >= 0)
                k = json_add_string(o, "state", state_names[r->state]);
        if (k >= 0)
                k = json_add_string(o, "text", r->text);
        if (k >= 0)
                k = r->remedy ? json_add_string(o, "remedy", r->remedy) : json_object_object_add(o, "remedy", NULL);

        return k < 0 ? k : json_append(array, TAKE_PTR(o));
}

/* Everything that programs, files and agents said ends here. */
static int escape(CheckResult *r) {
        const CheckState state = r->state;
        char *text = str_escape_n(r->text, strlen(r->text), TEXT_MAX);
        char *remedy = r->remedy ? str_escape(r->remedy) : NULL;

        if (!text || (r->remedy && !remedy)) {
                free(text);
                free(remedy);
                return -ENOMEM;
        }

        check_result_clear(r);
        *r = (CheckResult) { .state = state, .text = text, .remedy = remedy };
        return 0;
}

/* Each is shown when it is done: the last ones take a while. */
static int check_all(Doctor *d, Json *array) {
        for (size_t i = 0; i < ELEMENTSOF(checks); i++) {
                CheckResult result = { 0 };
                int r;

                r = doctor_check(d, &checks[i], &result);
                if (r >= 0)
                        r = escape(&result);
                if (r >= 0 && array)
                        r = add_to_json(array, &checks[i], &result);
                else if (r >= 0 && isatty(STDOUT_FILENO))
                        print_for_people(&checks[i], &result);
                else if (r >= 0)
                        print_for_pipes(&checks[i], &result);

                check_result_clear(&result);
                if (r < 0)
                        return log_oom();
                (void) fflush(stdout);
        }

        return 0;
}

static int examine(const Command *c, Doctor *d) {
        struct stat st;
        int r;

        if (c->args[0]) {
                _cleanup_profile_ Profile *p = NULL;

                r = command_open_profile(c, &p);
                if (r < 0)
                        return r;
                r = profile_is_sandboxed(p, c->settings);
                if (r < 0)
                        return log_error(r, "Cannot tell whether %s is sandboxed", p->path);

                d->profile = c->args[0];
                d->on_host = r == 0;
                d->authenticated = fstatat(p->fd, ".credentials.json", &st, AT_SYMLINK_NOFOLLOW) >= 0 && st.st_size > 0;
        }

        if (command_has(c, "json")) {
                _cleanup_json_ Json *array = json_object_new_array();

                r = array ? check_all(d, array) : log_oom();
                return r < 0 ? r : output_json(TAKE_PTR(array));
        }

        return check_all(d, NULL);
}

static int run(const Command *c) {
        Doctor d = { .dirs = c->dirs, .settings = c->settings };
        int r;

        r = examine(c, &d);
        doctor_clear(&d);
        if (r < 0)
                return r;

        return d.found[CHECK_FAILED] > 0 ? EXIT_FAILURE : d.found[CHECK_WARNING] > 0 ? EXIT_WARNINGS : EXIT_SUCCESS;
}

static const Option options[] = {
        { 0, "json", NULL, "Print JSON" },
        {},
};

const Verb verb_doctor = {
        .name = "doctor",
        .arguments = "[NAME]",
        .min = 0,
        .max = 1,
        .flags = VERB_PROFILE,
        .options = options,
        .help = "Check what launches need, and say what helps",
        .details = "With the settings of profile NAME, or for any. With NAME a sandbox of it is started, and its agents are asked through its "
                   "bridge. Exit status 0: all is well; 3: there are warnings; 1: something failed. In a pipe: a line each; state, check, text "
                   "and remedy, separated by tabs.",
        .run = run,
};
