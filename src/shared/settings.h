/* SPDX-License-Identifier: MIT */
#pragma once

/* Settings: environment variable, else the profile's profiles/<name>.conf, else claude-profile.conf, else
 * the default. One table in settings.c has a row for each: variable, key, type, default, field. */

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/json-object.h"
#include "shared/limits.h"

typedef enum Isolation {
        ISOLATION_KRUN,
        ISOLATION_CONTAINER,
        _ISOLATION_MAX,
        _ISOLATION_INVALID = -EINVAL,
} Isolation;

const char *isolation_to_string(Isolation i);

typedef enum SettingSource {
        SETTING_DEFAULT,
        SETTING_MAIN_FILE,
        SETTING_PROFILE_FILE,
        SETTING_ENVIRONMENT,
} SettingSource;

#define SETTINGS_ROWS 32 /* at least as many as the table has */

typedef struct SettingOrigin {
        SettingSource source;
        unsigned line; /* of the file */
} SettingOrigin;

typedef struct Settings {
        char *profiles_base;
        char *claude_bin;
        char *podman_bin;
        int sandbox; /* CLAUDE_PROFILE_SANDBOX: 1, 0, or -1 for "the marker decides" */
        char *image;
        Isolation isolation;
        uint64_t ram_mib;
        uint64_t cpus;
        bool skip_permissions;
        bool ssh_agent;
        bool gpg_agent;
        bool clipboard;
        bool chrome;
        bool gh;
        bool pulumi;
        char **infisical; /* lists: NULL or at least one item */
        char **forward_env;
        char **ssh_keys;
        char *chrome_bin; /* NULL: searched */
        char *allow_root; /* NULL: none */
        char **report_paths;
        char *memory_max; /* of the scope, as systemd.resource-control(5) writes them; NULL: unset */
        char *memory_high;
        char *cpu_quota;
        char *cpu_weight;
        char *tasks_max;

        char *main_file;    /* the files' names, whether they exist or not */
        char *profile_file; /* NULL without a profile */
        SettingOrigin origins[SETTINGS_ROWS];
        char **warnings; /* sentences for the user, without full stop, to be shown once */
} Settings;

/* Loads what is in force for `profile`, or for no profile in particular (NULL). On failure `*ret_error` is
 * one sentence for the user, without full stop, that names variable or file, line and value; the caller
 * frees it; NULL when out of memory. Returns 0 or negative errno; -EINVAL also for a name that no profile
 * can have. */
int settings_load(const Dirs *dirs, const char *profile, Settings **ret, char **ret_error);
Settings *settings_free(Settings *s);
DEFINE_CLEANUP(Settings *, settings_free);
#define _cleanup_settings_ _cleanup_(settings_freep)

/* What one file alone says, for whoever is no launch: profiles/<profile>.conf, or claude-profile.conf when `profile` is NULL. Of the
 * environment only CLAUDE_PROFILE_PROFILES_BASE and CLAUDE_PROFILE_SANDBOX count. Nothing is an error: what is wrong becomes a warning and
 * is not set. Returns 0 or -ENOMEM. */
int settings_load_file(const Dirs *dirs, const char *profile, Settings **ret);

/* The limits among the settings. */
void settings_limits(const Settings *s, Limits *ret);

/* The variable for a limit, or NULL when there is no setting for it. */
const char *settings_limit_variable(LimitId id);

/* Where the setting of `variable` ("CLAUDE_PROFILE_SANDBOX") comes from, for a message:
 * "CLAUDE_PROFILE_SANDBOX in the environment", "<file>:<line>" or "the default". The caller frees; NULL when
 * out of memory. */
char *settings_describe_origin(const Settings *s, const char *variable);

/* One row of the table, as it is in force. */
typedef struct SettingView {
        const char *variable;
        const char *key;
        Json *value; /* the caller's; NULL: not set */
        SettingSource source;
        const char *file; /* of the two files; else NULL */
        unsigned line;
} SettingView;

/* The row number `i`, from 0 on. 0, -ENOMEM, or -ENOENT behind the last one. */
int settings_view(const Settings *s, size_t i, SettingView *ret);
