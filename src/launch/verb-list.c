/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/output.h"
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

typedef struct Listing {
        Row *rows;
        size_t n, allocated;
} Listing;

static void listing_clear(Listing *l) {
        for (size_t i = 0; i < l->n; i++) {
                free(l->rows[i].name);
                free(l->rows[i].path);
                free(l->rows[i].decides);
        }
        free(l->rows);
}
#define _cleanup_listing_ _cleanup_(listing_clear)

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

static int listing_add(Listing *l, const Command *c, const char *name) {
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

        if (grow(&l->rows, &l->allocated, l->n + 1, sizeof(Row)) < 0)
                return log_oom();

        row = &l->rows[l->n++];
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

static int listing_load(Listing *l, const Command *c) {
        _cleanup_strv_ char **names = NULL, **odd = NULL;
        int r;

        r = profile_list(c->settings, &names, &odd);
        if (r < 0)
                return log_error(r, "Cannot read %s", c->settings->profiles_base);

        STRV_FOREACH(s, odd)
                log_warning("%s. Left out.", *s);

        STRV_FOREACH(name, names) {
                r = listing_add(l, c, *name);
                if (r < 0)
                        return r;
        }

        return 0;
}

static const char *place(const Row *row) {
        return row->sandbox < 0 ? "unknown" : row->sandbox ? "sandbox" : "host";
}

/* Where it runs, and what decides that in few letters: the variable, or the file's name below the configuration directory. */
static char *describe_place(const Row *row, const Dirs *dirs) {
        const char *below = row->decides ? str_after_prefix(row->decides, dirs->config) : NULL;
        const char *contrary = row->marker < 0 || row->marker == row->sandbox ? "" :
                               row->marker                                    ? " (marked: sandbox)" :
                                                                                " (marked: host)";
        char *s;
        int r;

        if (!row->decides)
                return strdup(place(row));
        if (below)
                r = asprintf_to(&s, "%s, set by %s%s", place(row), below + 1, contrary);
        else
                r = asprintf_to(&s, "%s, set by %.*s%s", place(row), (int) strcspn(row->decides, " "), row->decides, contrary);

        return r < 0 ? NULL : s;
}

static int print_for_people(const Listing *l, const Dirs *dirs) {
        static const TableColumn columns[] = { { .title = "PROFILE" }, { .title = "LOGIN" }, { .title = "RUNS IN" }, {} };
        _cleanup_table_ Table t = { .columns = columns };
        const Style style = output_style();

        for (size_t i = 0; i < l->n; i++) {
                const Row *row = &l->rows[i];
                TableRow *cells = table_add(&t);

                if (!cells)
                        return log_oom();
                cells->cells[0] = strdup(row->name);
                cells->cells[1] = strdup(row->authenticated ? "yes" : "no");
                cells->cells[2] = describe_place(row, dirs);
                cells->styles[1] = row->authenticated ? NULL : style.yellow;
                cells->styles[2] = row->sandbox == 1 ? style.green : NULL;
                if (!cells->cells[0] || !cells->cells[1] || !cells->cells[2])
                        return log_oom();
        }

        table_print(&t);
        return 0;
}

static void print_for_pipes(const Listing *l) {
        for (size_t i = 0; i < l->n; i++)
                (void) printf("%s\t%s\t%s\t%s\n", l->rows[i].name,
                                l->rows[i].authenticated ? "authenticated" : "unauthenticated",
                                place(&l->rows[i]), l->rows[i].decides ?: "marker");
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

static int print_json(const Listing *l) {
        struct json_object *array = json_object_new_array();

        for (size_t i = 0; i < l->n; i++)
                (void) json_object_array_add(array, row_to_json(&l->rows[i]));

        return output_json(array);
}

static int run(const Command *c) {
        _cleanup_listing_ Listing l = { 0 };
        int r;

        r = listing_load(&l, c);
        if (r < 0)
                return r;

        if (command_has(c, "json"))
                return print_json(&l);
        if (l.n == 0)
                log_notice("There is no profile in %s yet. Make one: claude-profile add NAME.",
                                c->settings->profiles_base);
        else if (isatty(STDOUT_FILENO))
                return print_for_people(&l, c->dirs);
        else
                print_for_pipes(&l);

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
