/* SPDX-License-Identifier: MIT */

/* The plan of a launch for people and for scripts: what would be mounted and why, which services, which variables (names, never
 * values), units, podman's command line. Nothing is made and nothing is started but the helpers that a plan asks. */

#include <json-c/json.h>
#include <stdio.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "launch/explain.h"
#include "launch/launch-limits.h"
#include "launch/plan.h"

#define MOUNT_COLUMN 44
#define ARGUMENT_MAX 256

static int make_plan(const LaunchRequest *request, Plan **ret) {
        _cleanup_plan_ Plan *p = NULL;
        int r;

        r = plan_new(request, &p);
        if (r >= 0)
                r = plan_work_root(p);
        if (r >= 0)
                r = plan_git_ask(p);
        if (r >= 0)
                r = plan_parts(p);
        if (r >= 0)
                r = plan_git(p);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(p);
        return 0;
}

/* Of a guard that can be written: what lies over the entry, or just the entry itself. */
static const char *mount_mode(const Mount *m) {
        if (m->flags & MOUNT_READ_ONLY)
                return "ro";
        if (!(m->flags & MOUNT_GUARD))
                return "rw";
        return streq(m->source, m->target) ? "pin" : "copy";
}

/* As a shell would take it back. */
static void print_quoted(const char *s) {
        _cleanup_free_ char *shown = str_escape(s);

        if (!shown)
                return;
        if (*shown && strspn(shown, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-") == strlen(shown)) {
                (void) fputs(shown, stdout);
                return;
        }

        (void) putchar('\'');
        for (const char *c = shown; *c; c++)
                if (*c == '\'')
                        (void) fputs("'\\''", stdout);
                else
                        (void) putchar(*c);
        (void) putchar('\'');
}

static void print_beginning(const char *s) {
        _cleanup_free_ char *shown = str_escape_n(s, strcspn(s, "\n.,"), ARGUMENT_MAX);

        (void) printf("'%s…'", shown ?: "");
}

static void print_command(const char *title, char *const *argv) {
        (void) printf("\n%s\n ", title);
        STRV_FOREACH(a, argv) {
                (void) putchar(' ');
                /* The briefing is a page of its own. */
                if (strchr(*a, '\n') && strlen(*a) > ARGUMENT_MAX)
                        print_beginning(*a);
                else
                        print_quoted(*a);
        }
        (void) putchar('\n');
}

/* What serves it on the host: a socket, or a program. */
static const char *service_end(const Plan *p, const PlanService *s) {
        switch (s->id.kind) {
        case SERVICE_CLIPBOARD:
                return p->programs.paste;
        case SERVICE_OPEN:
                return p->programs.browser;
        default:
                return s->host_path;
        }
}

static void print_mounts(const Plan *p) {
        (void) puts("\nMounts");
        for (size_t i = 0; i < p->n_mounts; i++) {
                const Mount *m = &p->mounts[i];
                _cleanup_free_ char *target = str_escape(m->target), *source = m->source ? str_escape(m->source) : NULL;

                (void) printf("  %-4s  %-*s  %s\n", mount_mode(m), MOUNT_COLUMN, target ?: "?", m->why);
                if (source && target && !streq(source, target))
                        (void) printf("          from %s\n", source);
        }
}

static void print_creations(const Plan *p) {
        if (p->n_creations > 0)
                (void) puts("\nMade in the profile first");
        for (size_t i = 0; i < p->n_creations; i++)
                (void) printf("  %s%s\n", p->creations[i].thing->name, p->creations[i].link ? "  in place of a link" : "");
}

static void print_services(const Plan *p) {
        const Settings *s = p->request->settings;

        (void) puts("\nServices of the bridge");
        for (size_t i = 0; i < p->n_services; i++) {
                _cleanup_free_ char *path = str_escape(service_end(p, &p->services[i]));
                char name[WIRE_SERVICE_MAX];

                (void) printf("  %-8s  %s\n", service_format(p->services[i].id, name), path ?: "?");
        }
        if (s->gpg_agent)
                (void) printf("  %-8s  the gpg-agent's restricted socket, if there is one\n", "gpg");
        if (p->n_services == 0 && !s->gpg_agent)
                (void) puts("  none");
        for (size_t i = 0; i < p->n_hook_ports; i++)
                (void) printf("  port %-5u of the host's loopback, for an HTTP hook\n", (unsigned) p->hook_ports[i]);
}

static void print_limits(const Plan *p) {
        (void) puts("\nLimits");
        for (LimitId id = 0; id < _LIMIT_MAX; id++) {
                _cleanup_free_ char *origin = NULL, *shown = NULL;
                char buf[LIMIT_TEXT_MAX];

                if (!p->limits.items[id].set)
                        continue;
                origin = limit_describe_origin(p->request, id);
                shown = str_escape(origin ?: "?");
                (void) printf("  %s=%s  (%s)\n", limit_name(id), limit_format(id, &p->limits.items[id], buf), shown ?: "?");
        }
        if (limits_are_none(&p->limits))
                (void) puts("  none");
}

static void print_variables(const Plan *p) {
        (void) puts("\nVariables (values are not shown)");
        STRV_FOREACH(e, p->guest_env)
                (void) printf("  %.*s\n", (int) strcspn(*e, "="), *e);
        STRV_FOREACH(e, p->environment)
                (void) printf("  %.*s\n", (int) strcspn(*e, "="), *e);
}

static void print_text(const Plan *p, char *const *podman) {
        _cleanup_free_ char *directory = str_escape(p->directory), *root = str_escape(p->work_root);

        (void) printf("Profile %s, in a sandbox (%s)\n  starts in  %s\n  work root  %s\n", p->request->profile->name,
                        isolation_to_string(p->request->settings->isolation), directory ?: "?", root ?: "?");
        print_mounts(p);
        print_creations(p);
        print_services(p);
        print_variables(p);
        print_limits(p);
        (void) printf("\nUnits\n  %s\n  %s\n  %s\n", p->units.scope, p->units.supervisor, p->units.slice);
        print_command("Command in the sandbox", p->command);
        print_command("podman", podman);
}

static struct json_object *names_of(char *const *environment, struct json_object *array) {
        STRV_FOREACH(e, environment)
                (void) json_object_array_add(array, json_object_new_string_len(*e, (int) strcspn(*e, "=")));
        return array;
}

static struct json_object *strings_of(char *const *list) {
        struct json_object *array = json_object_new_array();

        STRV_FOREACH(s, list)
                (void) json_object_array_add(array, json_object_new_string(*s));
        return array;
}

static struct json_object *mounts_of(const Plan *p) {
        struct json_object *array = json_object_new_array();

        for (size_t i = 0; i < p->n_mounts; i++) {
                const Mount *m = &p->mounts[i];
                struct json_object *o = json_object_new_object();

                (void) json_object_object_add(o, "target", json_object_new_string(m->target));
                (void) json_object_object_add(o, "source", m->source ? json_object_new_string(m->source) : NULL);
                (void) json_object_object_add(o, "mode", json_object_new_string(mount_mode(m)));
                (void) json_object_object_add(o, "why", json_object_new_string(m->why));
                (void) json_object_array_add(array, o);
        }

        return array;
}

static struct json_object *services_of(const Plan *p) {
        struct json_object *array = json_object_new_array();

        for (size_t i = 0; i < p->n_services; i++) {
                struct json_object *o = json_object_new_object();
                char name[WIRE_SERVICE_MAX];

                (void) json_object_object_add(o, "name", json_object_new_string(service_format(p->services[i].id, name)));
                (void) json_object_object_add(o, "path", json_object_new_string(service_end(p, &p->services[i])));
                (void) json_object_array_add(array, o);
        }

        return array;
}

static struct json_object *limits_of(const Plan *p) {
        struct json_object *o = json_object_new_object();

        for (LimitId id = 0; id < _LIMIT_MAX; id++) {
                char buf[LIMIT_TEXT_MAX];

                if (p->limits.items[id].set)
                        (void) json_object_object_add(o, limit_name(id), json_object_new_string(limit_format(id,
                                        &p->limits.items[id], buf)));
        }

        return o;
}

static void print_json(const Plan *p, char *const *podman) {
        struct json_object *o = json_object_new_object(), *units = json_object_new_object();

        (void) json_object_object_add(o, "profile", json_object_new_string(p->request->profile->name));
        (void) json_object_object_add(o, "sandbox", json_object_new_boolean(true));
        (void) json_object_object_add(o, "isolation", json_object_new_string(isolation_to_string(p->request->settings->isolation)));
        (void) json_object_object_add(o, "directory", json_object_new_string(p->directory));
        (void) json_object_object_add(o, "workRoot", json_object_new_string(p->work_root));
        (void) json_object_object_add(o, "mounts", mounts_of(p));
        (void) json_object_object_add(o, "services", services_of(p));
        (void) json_object_object_add(o, "gpg", json_object_new_boolean(p->request->settings->gpg_agent));
        (void) json_object_object_add(o, "variables", names_of(p->environment, names_of(p->guest_env, json_object_new_array())));
        (void) json_object_object_add(o, "limits", limits_of(p));
        (void) json_object_object_add(units, "scope", json_object_new_string(p->units.scope));
        (void) json_object_object_add(units, "supervisor", json_object_new_string(p->units.supervisor));
        (void) json_object_object_add(units, "slice", json_object_new_string(p->units.slice));
        (void) json_object_object_add(o, "units", units);
        (void) json_object_object_add(o, "command", strings_of(p->command));
        (void) json_object_object_add(o, "podman", strings_of(podman));

        (void) puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
        (void) json_object_put(o);
}

int launch_explain(const LaunchRequest *request, bool json) {
        _cleanup_strv_ char **podman = NULL;
        _cleanup_plan_ Plan *p = NULL;
        int r;

        r = make_plan(request, &p);
        if (r < 0)
                return r;
        r = plan_podman_argv(p, 0, &podman);
        if (r < 0)
                return log_error(r, "Cannot make podman's command line");

        if (json)
                print_json(p, podman);
        else
                print_text(p, podman);
        return 0;
}
