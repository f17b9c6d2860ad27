/* SPDX-License-Identifier: MIT */

#include "basic/alloc.h"
#include "basic/str.h"
#include "generator/render.h"
#include "generator/unit-text.h"

#define ORIGIN "Made by claude-sandbox-generator, and made anew with each daemon-reload: see claude-profile.conf(5)."

static int begin_unit(UnitText *u, const char *description) {
        int r;

        r = unit_text_comment(u, ORIGIN);
        if (r >= 0)
                r = unit_text_section(u, "Unit");
        if (r >= 0)
                r = unit_text_set(u, "Description", description);
        return r;
}

/* The manager then notices when that has changed. A path that no unit file can hold is left out. */
static int set_source(UnitText *u, const char *path) {
        int r;

        r = path ? unit_text_set(u, "SourcePath", path) : 0;
        return r == -EINVAL ? 0 : r;
}

static int set_limits(UnitText *u, const Limits *limits) {
        int r;

        r = unit_text_section(u, "Slice");
        for (LimitId id = 0; id < _LIMIT_MAX && r >= 0; id++) {
                char buf[LIMIT_TEXT_MAX];

                if (limits->items[id].set)
                        r = unit_text_set_plain(u, limit_name(id), limit_format(id, &limits->items[id], buf));
        }

        return r;
}

int render_slice(const ProfileUnits *p, char **ret) {
        _cleanup_free_ char *description = NULL;
        _cleanup_unit_text_ UnitText u = { 0 };
        int r;

        r = asprintf_to(&description, "Claude sandboxes of profile %s", p->profile);
        if (r >= 0)
                r = begin_unit(&u, description);
        if (r >= 0)
                r = unit_text_set(&u, "Documentation", "man:claude-profile.conf(5)");
        if (r >= 0)
                r = set_source(&u, p->settings_file);
        if (r >= 0)
                r = set_limits(&u, &p->limits);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(u.text);
        return 0;
}

int render_supervisor(const ProfileUnits *p, char **ret) {
        _cleanup_free_ char *description = NULL, *path = NULL;
        _cleanup_unit_text_ UnitText u = { 0 };
        int r;

        path = str_escape(p->path);
        if (!path)
                return -ENOMEM;

        r = asprintf_to(&description, "Supervisor of Claude sandboxes of profile %s (%s)", p->profile, path);
        if (r >= 0)
                r = begin_unit(&u, description);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(u.text);
        return 0;
}
