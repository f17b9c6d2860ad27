/* SPDX-License-Identifier: MIT */
#pragma once

/* The checks of `claude-profile doctor`. verb-doctor.c has the table of them: a function that looks at one thing, and says how it is and
 * what would help. A check changes nothing and is bounded in time. What an earlier one found out is in Doctor; one that needs what is
 * not there is skipped. */

#include <systemd/sd-bus.h>

#include "launch/ssh-agents.h"
#include "shared/dirs.h"
#include "shared/json-object.h"
#include "shared/settings.h"

typedef enum CheckState {
        CHECK_OK,
        CHECK_SKIPPED,
        CHECK_WARNING,
        CHECK_FAILED,
        _CHECK_STATE_MAX,
} CheckState;

typedef struct CheckResult {
        CheckState state;
        char *text;   /* half a sentence; may hold what others chose, and is escaped when it is printed */
        char *remedy; /* a command to copy, or what to do; NULL: none */
} CheckResult;

typedef struct Doctor {
        const Dirs *dirs;
        const Settings *settings;
        const char *profile;              /* NULL: none was named */
        bool on_host;                     /* it runs there, so nothing is needed for a sandbox */
        bool authenticated;
        sd_bus *bus;                      /* NULL: no manager answers */
        char **podman_env;
        Json *podman_info;                /* what `podman info` says; NULL: podman does not work */
        SshAgents agents;
        unsigned found[_CHECK_STATE_MAX]; /* how many checks ended so */
} Doctor;

typedef enum CheckFlags {
        CHECK_SANDBOX = 1 << 0, /* a launch on the host does not need it */
        CHECK_PODMAN = 1 << 1,  /* needs podman_info */
        CHECK_BUS = 1 << 2,     /* needs bus */
} CheckFlags;

typedef struct Check {
        const char *name;
        CheckFlags flags;
        int (*run)(Doctor *d, CheckResult *ret); /* 0 or -ENOMEM */
} Check;

int check_profile(Doctor *d, CheckResult *ret);
int check_claude(Doctor *d, CheckResult *ret);
int check_manager(Doctor *d, CheckResult *ret);
int check_units(Doctor *d, CheckResult *ret);
int check_generator(Doctor *d, CheckResult *ret);
int check_cgroups(Doctor *d, CheckResult *ret);
int check_podman(Doctor *d, CheckResult *ret);
int check_runtime(Doctor *d, CheckResult *ret);
int check_user_ids(Doctor *d, CheckResult *ret);
int check_image(Doctor *d, CheckResult *ret);
int check_network(Doctor *d, CheckResult *ret);
int check_kvm(Doctor *d, CheckResult *ret);
int check_krun(Doctor *d, CheckResult *ret);
int check_selinux(Doctor *d, CheckResult *ret);
int check_ssh_agent(Doctor *d, CheckResult *ret);
int check_onepassword(Doctor *d, CheckResult *ret);
int check_gpg_agent(Doctor *d, CheckResult *ret);
int check_clipboard(Doctor *d, CheckResult *ret);
int check_browser(Doctor *d, CheckResult *ret);
int check_trial(Doctor *d, CheckResult *ret);

/* What a check returns: it fills the result. `remedy` is copied. 0 or -ENOMEM. */
int check_end(CheckResult *ret, CheckState state, const char *remedy, const char *format, ...) _printf_(4, 5);
#define check_ok(ret, ...) check_end((ret), CHECK_OK, NULL, __VA_ARGS__)
#define check_skipped(ret, ...) check_end((ret), CHECK_SKIPPED, NULL, __VA_ARGS__)
#define check_warning(ret, remedy, ...) check_end((ret), CHECK_WARNING, (remedy), __VA_ARGS__)
#define check_failed(ret, remedy, ...) check_end((ret), CHECK_FAILED, (remedy), __VA_ARGS__)
void check_result_clear(CheckResult *r);

/* Does the check, or says why it is skipped, and counts it. 0 or -ENOMEM. */
int doctor_check(Doctor *d, const Check *check, CheckResult *ret);
void doctor_clear(Doctor *d);

/* Runs a program for a check: its exit status, or negative errno as subprocess_run() has it. `*ret` is its output with `errors` in it
 * if wanted, without the last line end, or NULL. */
int doctor_run(char *const *argv, char *const *env, unsigned seconds, bool errors, char **ret);

/* Why a program is of no use: of what doctor_run() returned and gave, the last line it said, or what kept it from working. The caller
 * frees; NULL when out of memory. */
char *doctor_why(int r, unsigned seconds, const char *output);

/* A member's member, "host.ociRuntime", or NULL. */
Json *doctor_info(const Doctor *d, const char *path);
