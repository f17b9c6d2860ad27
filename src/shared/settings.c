/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "shared/profile.h"
#include "shared/settings-file.h"
#include "shared/settings-value.h"
#include "shared/settings.h"

#define FILE_SIZE_MAX MIB
#define WARNINGS_MAX 20 /* of one file */
#define SANDBOX_PREFIX "CLAUDE_PROFILE_SANDBOX_"

typedef struct Row {
        const char *variable;
        const char *key;
        SettingKind kind;
        const char *fallback; /* the default, as text; NULL: unset */
        size_t offset;
} Row;

#define FIELD(name) offsetof(Settings, name)

/* ProfilesBase= is in no profile's file. */
static const Row table[] = {
        { "CLAUDE_PROFILE_PROFILES_BASE", "ProfilesBase", SETTING_DIRECTORY, "~/.claude-profiles",
                        FIELD(profiles_base) },
        { "CLAUDE_PROFILE_CLAUDE_BIN", "ClaudeBin", SETTING_PROGRAM, "claude", FIELD(claude_bin) },
        { "CLAUDE_PROFILE_PODMAN_BIN", "PodmanBin", SETTING_PROGRAM, "podman", FIELD(podman_bin) },
        { "CLAUDE_PROFILE_SANDBOX", "Sandbox", SETTING_TRISTATE, NULL, FIELD(sandbox) },
        { "CLAUDE_PROFILE_SANDBOX_IMAGE", "Image", SETTING_IMAGE, "claude-profile-sandbox:latest",
                        FIELD(image) },
        { "CLAUDE_PROFILE_SANDBOX_ISOLATION", "Isolation", SETTING_ISOLATION, "krun", FIELD(isolation) },
        { "CLAUDE_PROFILE_SANDBOX_RAM_MIB", "RAM", SETTING_RAM, "4096", FIELD(ram_mib) },
        { "CLAUDE_PROFILE_SANDBOX_CPUS", "CPUs", SETTING_CPUS, "4", FIELD(cpus) },
        { "CLAUDE_PROFILE_SANDBOX_SKIP_PERMISSIONS", "SkipPermissions", SETTING_BOOL, "yes",
                        FIELD(skip_permissions) },
        { "CLAUDE_PROFILE_SANDBOX_SSH_AGENT", "SSHAgent", SETTING_BOOL, "no", FIELD(ssh_agent) },
        { "CLAUDE_PROFILE_SANDBOX_GPG_AGENT", "GPGAgent", SETTING_BOOL, "no", FIELD(gpg_agent) },
        { "CLAUDE_PROFILE_SANDBOX_CLIPBOARD", "Clipboard", SETTING_BOOL, "no", FIELD(clipboard) },
        { "CLAUDE_PROFILE_SANDBOX_CHROME", "Chrome", SETTING_BOOL, "no", FIELD(chrome) },
        { "CLAUDE_PROFILE_SANDBOX_GH", "GH", SETTING_BOOL, "no", FIELD(gh) },
        { "CLAUDE_PROFILE_SANDBOX_PULUMI", "Pulumi", SETTING_BOOL, "no", FIELD(pulumi) },
        { "CLAUDE_PROFILE_SANDBOX_INFISICAL", "Infisical", SETTING_LIST, NULL, FIELD(infisical) },
        { "CLAUDE_PROFILE_SANDBOX_FORWARD_ENV", "ForwardEnv", SETTING_NAMES, NULL, FIELD(forward_env) },
        { "CLAUDE_PROFILE_SANDBOX_SSH_KEYS", "SSHKeys", SETTING_SSH_KEYS, NULL, FIELD(ssh_keys) },
        { "CLAUDE_PROFILE_CHROME_BIN", "ChromeBin", SETTING_PROGRAM, NULL, FIELD(chrome_bin) },
        { "CLAUDE_PROFILE_SANDBOX_ALLOW_ROOT", "AllowRoot", SETTING_DIRECTORY, NULL, FIELD(allow_root) },
        { "CLAUDE_PROFILE_SANDBOX_REPORT_PATHS", "ReportPaths", SETTING_LIST, NULL, FIELD(report_paths) },
        { "CLAUDE_PROFILE_SANDBOX_MEMORY_MAX", "MemoryMax", SETTING_MEMORY, NULL, FIELD(memory_max) },
        { "CLAUDE_PROFILE_SANDBOX_MEMORY_HIGH", "MemoryHigh", SETTING_MEMORY, NULL, FIELD(memory_high) },
        { "CLAUDE_PROFILE_SANDBOX_CPU_QUOTA", "CPUQuota", SETTING_QUOTA, NULL, FIELD(cpu_quota) },
        { "CLAUDE_PROFILE_SANDBOX_CPU_WEIGHT", "CPUWeight", SETTING_WEIGHT, NULL, FIELD(cpu_weight) },
        { "CLAUDE_PROFILE_SANDBOX_TASKS_MAX", "TasksMax", SETTING_TASKS, NULL, FIELD(tasks_max) },
};
static_assert(ELEMENTSOF(table) <= SETTINGS_ROWS, "an origin for each row");

typedef struct Loader {
        const Dirs *dirs;
        Settings *settings;
        const char *path; /* of the file being read; NULL: the environment */
        SettingSource source;
        bool forgiving;   /* what is wrong is left out, with a warning */
        unsigned n_warnings; /* about this file */
        char *error;
} Loader;

static void *field_of(const Settings *s, const Row *row) {
        return (char *) s + row->offset;
}

static int set_default(Loader *l, const Row *row) {
        if (row->fallback)
                return setting_parse(row->kind, l->dirs, row->fallback, field_of(l->settings, row));

        setting_clear(row->kind, field_of(l->settings, row));
        return 0;
}

/* "<file>:<line>: " or nothing; the caller frees. */
static char *place_format(const Loader *l, unsigned line) {
        char *s;

        if (!l->path)
                return strdup("");

        return asprintf_to(&s, "%s:%u: ", l->path, line) < 0 ? NULL : s;
}

static int refuse_value(Loader *l, const Row *row, const char *value, unsigned line) {
        const bool is_text = utf8_is_valid(value, strlen(value));
        _cleanup_free_ char *place = NULL, *shown = NULL;
        int r;

        place = place_format(l, line);
        shown = str_escape_n(value, strlen(value), 80);
        if (!place || !shown)
                return -ENOMEM;

        r = asprintf_to(&l->error, "%s%s=%s: expected %s", place, l->path ? row->key : row->variable, shown,
                        is_text ? setting_expectation(row->kind) : "UTF-8 text");
        return r < 0 ? r : -EINVAL;
}

/* Nobody reads more than some of them, and a file of any size can ask for many. */
static int warn_line(Loader *l, unsigned line, const char *what, const char *remark) {
        _cleanup_free_ char *shown = NULL;

        if (++l->n_warnings > WARNINGS_MAX)
                return l->n_warnings > WARNINGS_MAX + 1 ? 0 :
                                strv_addf(&l->settings->warnings, "%s:%u: and more of that kind below", l->path, line);

        shown = str_escape_n(what, strlen(what), 80);
        if (!shown)
                return -ENOMEM;

        return strv_addf(&l->settings->warnings, "%s:%u: %s: %s", l->path, line, shown, remark);
}

/* Where nothing is an error, the sentence becomes a warning. */
static int forgive(Loader *l, int error) {
        if (!l->forgiving || !l->error)
                return error;
        if (++l->n_warnings <= WARNINGS_MAX)
                return strv_take(&l->settings->warnings, TAKE_PTR(l->error));

        free(TAKE_PTR(l->error));
        return 0;
}

static int set_value(Loader *l, const Row *row, const char *value, unsigned line) {
        int r;

        if (*value)
                r = setting_parse(row->kind, l->dirs, value, field_of(l->settings, row));
        else
                r = set_default(l, row);
        if (r == -EINVAL)
                r = refuse_value(l, row, value, line);
        if (r < 0)
                return forgive(l, r);

        l->settings->origins[row - table] = (SettingOrigin) { .source = l->source, .line = line };
        return 0;
}

static int warn_unknown_key(Loader *l, const IniLine *line) {
        _cleanup_free_ char *remark = NULL;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (strcasecmp(line->key, table[i].key) == 0 || streq(line->key, table[i].variable)) {
                        r = asprintf_to(&remark, "unknown key, ignored (did you mean %s=?)", table[i].key);
                        if (r < 0)
                                return r;
                        break;
                }

        return warn_line(l, line->number, line->key, remark ?: "unknown key, ignored");
}

static int apply_assignment(Loader *l, const IniLine *line) {
        const SettingOrigin *origin;
        const Row *row = NULL;
        int r = 0;

        for (size_t i = 0; i < ELEMENTSOF(table) && !row; i++)
                if (streq(line->key, table[i].key))
                        row = &table[i];

        if (!streq(line->section, "Sandbox"))
                return warn_line(l, line->number, line->key, "not in section [Sandbox], ignored");
        if (!row)
                return warn_unknown_key(l, line);
        if (row->offset == FIELD(profiles_base) && l->source == SETTING_PROFILE_FILE)
                return warn_line(l, line->number, line->key, "belongs in claude-profile.conf, ignored");

        origin = &l->settings->origins[row - table];
        if (origin->source == l->source)
                r = warn_line(l, line->number, line->key, "set before in this file, the last one counts");

        return r < 0 ? r : set_value(l, row, line->value, line->number);
}

static int apply_text(Loader *l, char *text) {
        IniReader reader;
        IniLine line;
        int r = 0;

        ini_reader_init(&reader, text);
        while (r >= 0 && ini_reader_next(&reader, &line))
                if (line.kind == INI_ASSIGNMENT)
                        r = apply_assignment(l, &line);
                else
                        r = warn_line(l, line.number, line.key, ini_kind_to_string(line.kind));

        return r;
}

/* A link is followed: configuration is often kept elsewhere, and no sandbox can write here. But a link to
 * nothing is an error, not a file that does not exist, or settings would vanish unseen. */
static int read_text(const char *path, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = -EBADF;
        struct stat st;

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0) {
                int r = -errno;

                return r == -ENOENT && lstat(path, &st) >= 0 ? -ENOLINK : r;
        }

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -ENOTREG;

        return io_read_all(fd, FILE_SIZE_MAX, ret, ret_n);
}

static const char *describe_read_error(int error) {
        switch (error) {
        case -ENOLINK:
                return "a link to nothing";
        case -ENOTREG:
                return "not a regular file";
        case -EFBIG:
                return "more than 1 MiB";
        case -EILSEQ:
                return "not UTF-8 text";
        default:
                return strerror(-error);
        }
}

static int load_file(Loader *l, const char *path, SettingSource source) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r;

        r = read_text(path, &text, &n);
        if (r == -ENOENT)
                return 0;
        if (r >= 0 && !utf8_is_valid(text, n))
                r = -EILSEQ;
        if (r < 0) {
                if (asprintf_to(&l->error, "%s: cannot be read: %s", path, describe_read_error(r)) < 0)
                        return -ENOMEM;
                return forgive(l, r);
        }

        l->path = path;
        l->source = source;
        l->n_warnings = 0;
        return apply_text(l, text);
}

/* A misspelled variable would silently leave a restriction out. */
static int warn_unknown_variables(Loader *l) {
        STRV_FOREACH(e, environ) {
                const char *end = strchrnul(*e, '=');
                _cleanup_free_ char *shown = NULL;
                bool known = false;
                int r;

                if (!str_after_prefix(*e, SANDBOX_PREFIX))
                        continue;
                for (size_t i = 0; i < ELEMENTSOF(table) && !known; i++) {
                        const char *rest = str_after_prefix(*e, table[i].variable);

                        known = rest && rest == end;
                }
                if (known)
                        continue;

                shown = str_escape_n(*e, (size_t) (end - *e), 80);
                if (!shown)
                        return -ENOMEM;
                r = strv_addf(&l->settings->warnings, "%s: unknown variable, ignored", shown);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int load_environment(Loader *l) {
        l->path = NULL;
        l->source = SETTING_ENVIRONMENT;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const char *value = getenv(table[i].variable);
                int r;

                if (str_is_empty(value))
                        continue;
                r = set_value(l, &table[i], value, 0);
                if (r < 0)
                        return r;
        }

        return warn_unknown_variables(l);
}

/* What is wrong with it is said with claude-profile.conf, and not again with every profile. */
static int load_environment_of_all(Loader *l, const char *profile) {
        l->path = NULL;
        l->source = SETTING_ENVIRONMENT;
        l->n_warnings = profile ? WARNINGS_MAX : 0;

        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const bool counts = table[i].offset == FIELD(profiles_base) || table[i].offset == FIELD(sandbox);
                const char *value = counts ? getenv(table[i].variable) : NULL;
                int r;

                r = str_is_empty(value) ? 0 : set_value(l, &table[i], value, 0);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* The files' names, and every setting as it is when nothing sets it. */
static int load_defaults(Loader *l, const char *profile) {
        Settings *s = l->settings;
        int r = 0;

        s->main_file = path_join(l->dirs->config, "claude-profile.conf");
        if (!s->main_file)
                return -ENOMEM;
        if (profile)
                r = asprintf_to(&s->profile_file, "%s/profiles/%s.conf", l->dirs->config, profile);

        for (size_t i = 0; i < ELEMENTSOF(table) && r >= 0; i++)
                r = set_default(l, &table[i]);

        return r;
}

static int load_all(Loader *l, const char *profile) {
        const Settings *s = l->settings;
        int r;

        r = load_defaults(l, profile);
        if (r >= 0)
                r = load_file(l, s->main_file, SETTING_MAIN_FILE);
        if (r >= 0 && profile)
                r = load_file(l, s->profile_file, SETTING_PROFILE_FILE);
        if (r >= 0)
                r = load_environment(l);

        return r;
}

int settings_load(const Dirs *dirs, const char *profile, Settings **ret, char **ret_error) {
        _cleanup_settings_ Settings *s = NULL;
        Loader l = { .dirs = dirs };
        int r;

        if (profile && !profile_name_is_valid(profile)) {
                *ret_error = strdup("not a profile name");
                return *ret_error ? -EINVAL : -ENOMEM;
        }

        l.settings = s = new0(Settings, 1);
        if (!s) {
                *ret_error = NULL;
                return -ENOMEM;
        }

        r = load_all(&l, profile);
        if (r < 0) {
                *ret_error = l.error;
                return r;
        }

        *ret = TAKE_PTR(s);
        return 0;
}

int settings_load_file(const Dirs *dirs, const char *profile, Settings **ret) {
        _cleanup_settings_ Settings *s = new0(Settings, 1);
        Loader l = { .dirs = dirs, .settings = s, .forgiving = true };
        int r;

        if (!s)
                return -ENOMEM;

        r = load_defaults(&l, profile);
        if (r >= 0)
                r = profile ? load_file(&l, s->profile_file, SETTING_PROFILE_FILE) : load_file(&l, s->main_file, SETTING_MAIN_FILE);
        if (r >= 0)
                r = load_environment_of_all(&l, profile);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

/* A limit's key is systemd's name for it. Its value has been looked at when it was set. */
void settings_limits(const Settings *s, Limits *ret) {
        *ret = (Limits) { 0 };
        for (size_t i = 0; i < ELEMENTSOF(table); i++) {
                const int id = limit_from_name(table[i].key, strlen(table[i].key));
                const char *text = id >= 0 ? *(char **) field_of(s, &table[i]) : NULL;

                if (text)
                        (void) limit_parse((LimitId) id, text, &ret->items[id]);
        }
}

const char *settings_limit_variable(LimitId id) {
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].key, limit_name(id)))
                        return table[i].variable;

        return NULL;
}

Settings *settings_free(Settings *s) {
        if (!s)
                return NULL;

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                setting_clear(table[i].kind, field_of(s, &table[i]));
        free(s->main_file);
        free(s->profile_file);
        strv_free(s->warnings);
        free(s);
        return NULL;
}

char *settings_describe_origin(const Settings *s, const char *variable) {
        SettingOrigin origin = { .source = SETTING_DEFAULT };
        char *text;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].variable, variable))
                        origin = s->origins[i];

        switch (origin.source) {
        case SETTING_ENVIRONMENT:
                r = asprintf_to(&text, "%s in the environment", variable);
                break;
        case SETTING_PROFILE_FILE:
                r = asprintf_to(&text, "%s:%u", s->profile_file, origin.line);
                break;
        case SETTING_MAIN_FILE:
                r = asprintf_to(&text, "%s:%u", s->main_file, origin.line);
                break;
        default:
                return strdup("the default");
        }

        return r < 0 ? NULL : text;
}

int settings_view(const Settings *s, size_t i, SettingView *ret) {
        SettingView v;
        int r;

        if (i >= ELEMENTSOF(table))
                return -ENOENT;

        v = (SettingView) {
                .variable = table[i].variable,
                .key = table[i].key,
                .source = s->origins[i].source,
                .file = s->origins[i].source == SETTING_MAIN_FILE    ? s->main_file :
                        s->origins[i].source == SETTING_PROFILE_FILE ? s->profile_file :
                                                                       NULL,
                .line = s->origins[i].line,
        };
        r = setting_to_json(table[i].kind, field_of(s, &table[i]), &v.value);
        if (r < 0)
                return r;

        *ret = v;
        return 0;
}
