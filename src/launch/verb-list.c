/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/verb-util.h"
#include "launch/verbs.h"

typedef struct Row {
        char *name;
        char *path;
        char *decides; /* what says where it runs; NULL: the marker */
        bool authenticated;
        int marker;  /* 1, 0, or negative errno */
        int sandbox; /* where launches run: 1, 0, or negative errno: not to be told */
} Row;

typedef struct Table {
        Row *rows;
        size_t n, allocated;
} Table;

static void table_clear(Table *t) {
        for (size_t i = 0; i < t->n; i++) {
                free(t->rows[i].name);
                free(t->rows[i].path);
                free(t->rows[i].decides);
        }
        free(t->rows);
}
#define _cleanup_table_ _cleanup_(table_clear)

static bool has_credentials(const Profile *p) {
        struct stat st;

        return fstatat(p->fd, ".credentials.json", &st, AT_SYMLINK_NOFOLLOW) >= 0 && S_ISREG(st.st_mode) &&
               st.st_size > 0;
}

/* A profile's own file may say where it runs. */
static int row_decide(Row *row, const Profile *p, const Dirs *dirs) {
        _cleanup_settings_ Settings *s = NULL;
        _cleanup_free_ char *error = NULL;
        int r;

        r = settings_load(dirs, p->name, &s, &error);
        if (r < 0) {
                if (!error)
                        return log_oom();
                log_warning("%s.", error);
                row->sandbox = r;
                return 0;
        }

        row->sandbox = profile_is_sandboxed(p, s);
        if (s->sandbox < 0)
                return 0;

        row->decides = settings_describe_origin(s, "CLAUDE_PROFILE_SANDBOX");
        return row->decides ? 0 : log_oom();
}

static int table_add(Table *t, const Command *c, const char *name) {
        _cleanup_profile_ Profile *p = NULL;
        Row *row;
        int r;

        r = profile_open(c->settings, name, &p);
        if (r == -ENOENT)
                return 0; /* removed just now */
        if (r < 0) {
                log_warning("Cannot open %s/%s: %s.", c->settings->profiles_base, name, strerror(-r));
                return 0;
        }

        if (grow(&t->rows, &t->allocated, t->n + 1, sizeof(Row)) < 0)
                return log_oom();

        row = &t->rows[t->n++];
        *row = (Row) {
                .name = TAKE_PTR(p->name),
                .path = TAKE_PTR(p->path),
                .authenticated = has_credentials(p),
                .marker = profile_has_marker(p),
        };
        if (strdup_to(&p->name, row->name) < 0)
                return log_oom();

        return row_decide(row, p, c->dirs);
}

static int table_load(Table *t, const Command *c) {
        _cleanup_strv_ char **names = NULL, **odd = NULL;
        int r;

        r = profile_list(c->settings, &names, &odd);
        if (r < 0)
                return log_error(r, "Cannot read %s", c->settings->profiles_base);

        STRV_FOREACH(s, odd)
                log_warning("%s. Left out.", *s);

        STRV_FOREACH(name, names) {
                r = table_add(t, c, *name);
                if (r < 0)
                        return r;
        }

        return 0;
}

static const char *place(const Row *row) {
        return row->sandbox < 0 ? "unknown" : row->sandbox ? "sandbox" : "host";
}

/* What decides, in few letters: the variable, or the file's name below the configuration directory. */
static void print_decides(const Row *row, const Dirs *dirs) {
        const char *below = str_after_prefix(row->decides, dirs->config);

        if (below)
                (void) printf(", set by %s", below + 1);
        else
                (void) printf(", set by %.*s", (int) strcspn(row->decides, " "), row->decides);

        if (row->marker >= 0 && row->marker != row->sandbox)
                (void) printf(" (marked: %s)", row->marker ? "sandbox" : "host");
}

static void print_for_people(const Table *t, const Dirs *dirs) {
        const bool colour = str_is_empty(getenv("NO_COLOR"));
        const char *bold = colour ? "\x1b[1m" : "", *green = colour ? "\x1b[32m" : "";
        const char *yellow = colour ? "\x1b[33m" : "", *reset = colour ? "\x1b[0m" : "";
        size_t width = STRLEN("PROFILE");

        for (size_t i = 0; i < t->n; i++)
                width = MAX(width, strlen(t->rows[i].name));

        (void) printf("%s%-*s  LOGIN  RUNS IN%s\n", bold, (int) width, "PROFILE", reset);
        for (size_t i = 0; i < t->n; i++) {
                const Row *row = &t->rows[i];

                (void) printf("%-*s  %s%-5s%s  %s%s%s", (int) width, row->name,
                                row->authenticated ? "" : yellow, row->authenticated ? "yes" : "no", reset,
                                row->sandbox == 1 ? green : "", place(row), reset);
                if (row->decides)
                        print_decides(row, dirs);
                (void) putchar('\n');
        }
}

static void print_for_pipes(const Table *t) {
        for (size_t i = 0; i < t->n; i++)
                (void) printf("%s\t%s\t%s\t%s\n", t->rows[i].name,
                                t->rows[i].authenticated ? "authenticated" : "unauthenticated",
                                place(&t->rows[i]), t->rows[i].decides ?: "marker");
}

static struct json_object *row_to_json(const Row *row) {
        struct json_object *o = json_object_new_object();

        (void) json_object_object_add(o, "name", json_object_new_string(row->name));
        (void) json_object_object_add(o, "path", json_object_new_string(row->path));
        (void) json_object_object_add(o, "authenticated", json_object_new_boolean(row->authenticated));
        (void) json_object_object_add(
                        o, "sandbox", row->sandbox < 0 ? NULL : json_object_new_boolean(row->sandbox));
        (void) json_object_object_add(
                        o, "marker", row->marker < 0 ? NULL : json_object_new_boolean(row->marker));
        (void) json_object_object_add(
                        o, "override", row->decides ? json_object_new_string(row->decides) : NULL);

        return o;
}

static void print_json(const Table *t) {
        struct json_object *array = json_object_new_array();

        for (size_t i = 0; i < t->n; i++)
                (void) json_object_array_add(array, row_to_json(&t->rows[i]));

        (void) puts(json_object_to_json_string_ext(
                        array, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
        (void) json_object_put(array);
}

static int run(const Command *c) {
        _cleanup_table_ Table t = { 0 };
        int r;

        r = table_load(&t, c);
        if (r < 0)
                return r;

        if (command_has(c, "json"))
                print_json(&t);
        else if (t.n == 0)
                log_notice("There is no profile in %s yet. Make one: claude-profile add NAME.",
                                c->settings->profiles_base);
        else if (isatty(STDOUT_FILENO))
                print_for_people(&t, c->dirs);
        else
                print_for_pipes(&t);

        return EXIT_SUCCESS;
}

static const Option options[] = {
        { 0, "json", NULL, "Print JSON" },
        { 0 },
};

const Verb verb_list = {
        .name = "list",
        .arguments = "",
        .min = 0,
        .max = 0,
        .options = options,
        .help = "Show all profiles, and where they run",
        .details = "In a pipe: a line each; name, login, place and what decides that, separated by tabs.",
        .run = run,
};
