/* SPDX-License-Identifier: MIT */
#pragma once

/* The types of settings: how each is read from text, and what a value of it looks like. */

#include "basic/macro.h"
#include "shared/dirs.h"
#include "shared/json-object.h"

typedef enum SettingKind {
        SETTING_BOOL,      /* bool */
        SETTING_TRISTATE,  /* int: 1, 0, -1 for unset */
        SETTING_ISOLATION, /* Isolation */
        SETTING_RAM,       /* uint64_t, MiB */
        SETTING_CPUS,      /* uint64_t */
        SETTING_DIRECTORY, /* char *, absolute and normalized */
        SETTING_PROGRAM,   /* char *: an absolute path, or a name that is searched for in $PATH */
        SETTING_IMAGE,     /* char *: a container image's name */
        SETTING_LIST,      /* char **, NULL when empty */
        SETTING_NAMES,     /* char **, names of environment variables */
        SETTING_SSH_KEYS,  /* char **, each selects keys (ssh-key.h) */
        SETTING_MEMORY,    /* char *, as systemd writes MemoryMax= */
        SETTING_QUOTA,     /* char *, as CPUQuota= */
        SETTING_WEIGHT,    /* char *, as CPUWeight= */
        SETTING_TASKS,     /* char *, as TasksMax= */
        _SETTING_KIND_MAX,
} SettingKind;

/* Parses a value that is not empty and replaces what `field` holds; on failure that is kept. Returns 0,
 * -ENOMEM or -EINVAL. */
int setting_parse(SettingKind kind, const Dirs *dirs, const char *value, void *field);

/* Back to "not set": what an empty value means where there is no default. */
void setting_clear(SettingKind kind, void *field);

/* The value as JSON: a boolean, a number, a string, a list of strings, or null for "not set". NULL stands for that, too. 0 or -ENOMEM. */
int setting_to_json(SettingKind kind, const void *field, Json **ret);

/* What a value must be, behind "expected". */
const char *setting_expectation(SettingKind kind);
