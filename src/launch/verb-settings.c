/* SPDX-License-Identifier: MIT */

/* The settings in force. Secrets are no settings: they are in .env of a profile, or asked for when a launch begins. */

#include <stdio.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "launch/output.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"

static const char *const source_names[] = {
        [SETTING_DEFAULT] = "default",
        [SETTING_MAIN_FILE] = "main-file",
        [SETTING_PROFILE_FILE] = "profile-file",
        [SETTING_ENVIRONMENT] = "environment",
};

/* The value as the files have it. */
static char *format_value(Json *value) {
        _cleanup_free_ char *text = NULL;

        switch (json_object_get_type(value)) {
        case json_type_null:
                return strdup("(not set)");
        case json_type_boolean:
                return strdup(json_object_get_boolean(value) ? "yes" : "no");
        case json_type_array:
                for (size_t i = 0; i < json_object_array_length(value); i++) {
                        _cleanup_free_ char *before = TAKE_PTR(text);

                        if (asprintf_to(&text, "%s%s%s", before ?: "", before ? "," : "",
                                            json_object_get_string(json_object_array_get_idx(value, i))) < 0)
                                return NULL;
                }
                return text ? str_escape(text) : strdup("");
        default:
                return str_escape(json_object_get_string(value));
        }
}

/* "default", "environment", or file and line; of the file what is behind `below`. */
static char *format_source(const SettingView *v, const char *below) {
        _cleanup_free_ char *escaped = NULL;
        char *s;

        if (!v->file)
                return strdup(source_names[v->source]);

        escaped = str_escape(below ? str_after_prefix(v->file, below) + 1 : v->file);
        return !escaped || asprintf_to(&s, "%s:%u", escaped, v->line) < 0 ? NULL : s;
}

/* Values stand last: they are shown whole, however long they are. */
static int print_for_people(const Command *c) {
        static const TableColumn columns[] = { { .title = "SETTING" }, { .title = "FROM" }, { .title = "VALUE" }, {} };
        _cleanup_table_ Table t = { .columns = columns };
        const Style style = output_style();
        SettingView v;
        int r;

        for (size_t i = 0; (r = settings_view(c->settings, i, &v)) >= 0; i++) {
                _cleanup_json_ Json *value = v.value;
                TableRow *row = table_add(&t);

                if (!row)
                        return log_oom();
                row->cells[0] = strdup(v.key);
                row->cells[1] = format_source(&v, c->dirs->config);
                row->cells[2] = format_value(value);
                row->styles[1] = v.source == SETTING_DEFAULT ? NULL : style.green;
                if (!row->cells[0] || !row->cells[1] || !row->cells[2])
                        return log_oom();
        }
        if (r != -ENOENT)
                return log_oom();

        table_print(&t);
        return 0;
}

static int print_for_pipes(const Command *c) {
        SettingView v;
        int r;

        for (size_t i = 0; (r = settings_view(c->settings, i, &v)) >= 0; i++) {
                _cleanup_json_ Json *value = v.value;
                _cleanup_free_ char *text = value ? format_value(value) : strdup(""), *source = format_source(&v, NULL);

                if (!text || !source)
                        return log_oom();
                (void) printf("%s\t%s\t%s\n", v.key, text, source);
        }

        return r == -ENOENT ? 0 : log_oom();
}

static int view_to_json(const SettingView *v, Json **ret) {
        _cleanup_json_ Json *o = json_object_new_object(), *value = v->value;
        int r;

        r = o ? json_add_string(o, "key", v->key) : -ENOMEM;
        if (r >= 0)
                r = json_add_string(o, "variable", v->variable);
        if (r >= 0)
                r = json_object_object_add(o, "value", TAKE_PTR(value));
        if (r >= 0)
                r = json_add_string(o, "source", source_names[v->source]);
        if (r >= 0 && v->file)
                r = json_add_string(o, "path", v->file);
        if (r >= 0 && v->file)
                r = json_add(o, "line", json_object_new_int64(v->line));
        if (r < 0)
                return r;

        *ret = TAKE_PTR(o);
        return 0;
}

static int print_json(const Command *c) {
        _cleanup_json_ Json *array = json_object_new_array();
        SettingView v;
        int r;

        for (size_t i = 0; (r = settings_view(c->settings, i, &v)) >= 0; i++) {
                Json *o = NULL;

                if (!array || view_to_json(&v, &o) < 0 || json_append(array, o) < 0)
                        return log_oom();
        }

        return r == -ENOENT ? output_json(TAKE_PTR(array)) : log_oom();
}

static int run(const Command *c) {
        _cleanup_profile_ Profile *p = NULL;
        int r;

        if (c->args[0]) {
                r = command_open_profile(c, &p);
                if (r < 0)
                        return r;
        }

        if (command_has(c, "json"))
                return print_json(c);

        return isatty(STDOUT_FILENO) ? print_for_people(c) : print_for_pipes(c);
}

static const Option options[] = {
        { 0, "json", NULL, "Print JSON" },
        {},
};

const Verb verb_settings = {
        .name = "settings",
        .arguments = "[NAME]",
        .min = 0,
        .max = 1,
        .flags = VERB_PROFILE,
        .options = options,
        .help = "Show the settings, and where each is from",
        .details = "For launches of profile NAME, or of any profile. A setting is from the environment, else from the profile's file, else "
                   "from claude-profile.conf, both below ~/.config/claude-profile, else it is the default. In a pipe: a line each; key, value "
                   "and source, separated by tabs.",
        .run = run,
};
