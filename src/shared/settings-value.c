/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/parse.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/env-file.h"
#include "shared/limits.h"
#include "shared/settings-value.h"
#include "shared/settings.h"
#include "shared/ssh-key.h"

#define RAM_MIB_MIN 128
#define RAM_MIB_MAX (16 * 1024 * 1024)
#define CPUS_MAX 255

static const char *const isolation_table[] = {
        [ISOLATION_KRUN] = "krun",
        [ISOLATION_CONTAINER] = "container",
};
static_assert(ELEMENTSOF(isolation_table) == _ISOLATION_MAX, "a name for each isolation");

const char *isolation_to_string(Isolation i) {
        return i >= 0 && i < _ISOLATION_MAX ? isolation_table[i] : NULL;
}

static int take_string(char **field, char *s) {
        if (!s)
                return -ENOMEM;

        free(*field);
        *field = s;
        return 0;
}

static int take_list(char ***field, char **v) {
        strv_free(*field);
        *field = v;
        return 0;
}

static int value_bool(const Dirs *dirs, const char *value, void *field) {
        return parse_bool(value, field);
}

static int value_tristate(const Dirs *dirs, const char *value, void *field) {
        bool b;
        int r;

        r = parse_bool(value, &b);
        if (r >= 0)
                *(int *) field = b;
        return r;
}

static int value_isolation(const Dirs *dirs, const char *value, void *field) {
        for (Isolation i = 0; i < _ISOLATION_MAX; i++)
                if (streq(value, isolation_table[i])) {
                        *(Isolation *) field = i;
                        return 0;
                }

        return -EINVAL;
}

static int value_ram(const Dirs *dirs, const char *value, void *field) {
        uint64_t bytes;

        if (parse_size(value, MIB, &bytes) < 0 || bytes % MIB != 0 || bytes / MIB < RAM_MIB_MIN ||
                        bytes / MIB > RAM_MIB_MAX)
                return -EINVAL;

        *(uint64_t *) field = bytes / MIB;
        return 0;
}

static int value_cpus(const Dirs *dirs, const char *value, void *field) {
        return parse_uint(value, 1, CPUS_MAX, field) < 0 ? -EINVAL : 0;
}

static int value_directory(const Dirs *dirs, const char *value, void *field) {
        _cleanup_free_ char *expanded = NULL;
        char *path;
        int r;

        if (streq(value, "~") || str_after_prefix(value, "~/")) {
                expanded = path_join(dirs->home, value + strspn(value, "~/"));
                if (!expanded)
                        return -ENOMEM;
                value = expanded;
        }

        r = path_normalize(value, &path);
        return r < 0 ? r : take_string(field, path);
}

static int value_program(const Dirs *dirs, const char *value, void *field) {
        if (strchr(value, '/'))
                return value_directory(dirs, value, field);
        if (value[0] == '-' || value[0] == '~' || streq(value, ".") || streq(value, ".."))
                return -EINVAL;

        return take_string(field, strdup(value));
}

static int value_image(const Dirs *dirs, const char *value, void *field) {
        if (value[0] == '-')
                return -EINVAL;
        for (const char *p = value; *p; p++)
                if (*p <= ' ' || *p > '~')
                        return -EINVAL;

        return take_string(field, strdup(value));
}

static int value_list(const Dirs *dirs, const char *value, void *field) {
        _cleanup_strv_ char **v = NULL;
        int r;

        r = strv_split(value, ',', &v);
        if (r < 0)
                return r;

        return take_list(field, v[0] ? TAKE_PTR(v) : NULL);
}

static int value_names(const Dirs *dirs, const char *value, void *field) {
        _cleanup_strv_ char **v = NULL;
        int r;

        r = value_list(dirs, value, &v);
        if (r < 0)
                return r;

        STRV_FOREACH(s, v)
                if (!env_name_is_valid(*s, strlen(*s)))
                        return -EINVAL;

        return take_list(field, TAKE_PTR(v));
}

/* A list of nothing but commas is refused: it must not mean "all". */
static int value_ssh_keys(const Dirs *dirs, const char *value, void *field) {
        _cleanup_strv_ char **v = NULL;
        int r;

        r = value_list(dirs, value, &v);
        if (r < 0)
                return r;
        if (!v || strlen(value) > SSH_SELECTORS_MAX)
                return -EINVAL;

        STRV_FOREACH(s, v)
                if (!ssh_selector_is_valid(*s))
                        return -EINVAL;

        return take_list(field, TAKE_PTR(v));
}

/* Kept as it is written; limits.h reads it again where it is made use of. */
static int take_limit(LimitId id, const char *value, void *field) {
        Limit limit;

        return limit_parse(id, value, &limit) < 0 ? -EINVAL : take_string(field, strdup(value));
}

static int value_memory(const Dirs *dirs, const char *value, void *field) {
        return take_limit(LIMIT_MEMORY_MAX, value, field);
}

static int value_quota(const Dirs *dirs, const char *value, void *field) {
        return take_limit(LIMIT_CPU_QUOTA, value, field);
}

static int value_weight(const Dirs *dirs, const char *value, void *field) {
        return take_limit(LIMIT_CPU_WEIGHT, value, field);
}

static int value_tasks(const Dirs *dirs, const char *value, void *field) {
        return take_limit(LIMIT_TASKS_MAX, value, field);
}

static const struct {
        int (*parse)(const Dirs *dirs, const char *value, void *field);
        const char *expectation;
} kinds[] = {
        [SETTING_BOOL] = { value_bool, "yes or no" },
        [SETTING_TRISTATE] = { value_tristate, "yes or no" },
        [SETTING_ISOLATION] = { value_isolation, "krun or container" },
        [SETTING_RAM] = { value_ram, "a number of MiB from 128 on, or a size such as 512M or 8G" },
        [SETTING_CPUS] = { value_cpus, "a number from 1 to 255" },
        [SETTING_DIRECTORY] = { value_directory,
                        "an absolute path, or one from ~/ on, without .." },
        [SETTING_PROGRAM] = { value_program, "an absolute path, or a name to be found in $PATH" },
        [SETTING_IMAGE] = { value_image, "the name of a container image" },
        [SETTING_LIST] = { value_list, "a list separated by commas" },
        [SETTING_NAMES] = { value_names, "names of environment variables, separated by commas" },
        [SETTING_SSH_KEYS] = { value_ssh_keys,
                        "fingerprints as ssh-add -l prints them (SHA256:…) and patterns for comments, separated by commas" },
        [SETTING_MEMORY] = { value_memory, EXPECT_MEMORY },
        [SETTING_QUOTA] = { value_quota, EXPECT_QUOTA },
        [SETTING_WEIGHT] = { value_weight, EXPECT_CPU_WEIGHT },
        [SETTING_TASKS] = { value_tasks, EXPECT_TASKS },
};
static_assert(ELEMENTSOF(kinds) == _SETTING_KIND_MAX, "a row for each kind");

int setting_parse(SettingKind kind, const Dirs *dirs, const char *value, void *field) {
        return utf8_is_valid(value, strlen(value)) ? kinds[kind].parse(dirs, value, field) : -EINVAL;
}

const char *setting_expectation(SettingKind kind) {
        return kinds[kind].expectation;
}

void setting_clear(SettingKind kind, void *field) {
        switch (kind) {
        case SETTING_TRISTATE:
                *(int *) field = -1;
                break;
        case SETTING_LIST:
        case SETTING_NAMES:
        case SETTING_SSH_KEYS:
                strv_free(*(char ***) field);
                *(char ***) field = NULL;
                break;
        case SETTING_BOOL:
        case SETTING_ISOLATION:
        case SETTING_RAM:
        case SETTING_CPUS:
                break; /* these always have a default */
        default:
                free(*(char **) field);
                *(char **) field = NULL;
        }
}

static Json *json_from_strings(char *const *list) {
        _cleanup_json_ Json *array = json_object_new_array();

        STRV_FOREACH(s, list)
                if (!array || json_append(array, json_object_new_string(*s)) < 0)
                        return NULL;

        return TAKE_PTR(array);
}

int setting_to_json(SettingKind kind, const void *field, Json **ret) {
        const int *tristate = field;
        char *const *string = field;

        switch (kind) {
        case SETTING_BOOL:
                *ret = json_object_new_boolean(*(const bool *) field);
                break;
        case SETTING_TRISTATE:
                if (*tristate < 0)
                        goto not_set;
                *ret = json_object_new_boolean(*tristate);
                break;
        case SETTING_ISOLATION:
                *ret = json_object_new_string(isolation_to_string(*(const Isolation *) field));
                break;
        case SETTING_RAM:
        case SETTING_CPUS:
                *ret = json_object_new_int64((int64_t) *(const uint64_t *) field);
                break;
        case SETTING_LIST:
        case SETTING_NAMES:
        case SETTING_SSH_KEYS:
                if (!*(char **const *) field)
                        goto not_set;
                *ret = json_from_strings(*(char **const *) field);
                break;
        default:
                if (!*string)
                        goto not_set;
                *ret = json_object_new_string(*string);
        }

        return *ret ? 0 : -ENOMEM;

not_set:
        *ret = NULL;
        return 0;
}
