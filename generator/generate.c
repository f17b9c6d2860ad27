/* SPDX-License-Identifier: MIT */

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/fd.h"
#include "basic/io.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "basic/strv.h"
#include "generator/generate.h"
#include "generator/render.h"
#include "shared/profile.h"
#include "shared/replace-file.h"
#include "shared/unit-name.h"

#define DROP_IN "10-claude-profile.conf"
#define REMARKS_MAX 100

typedef struct Generation {
        Dirs *dirs;
        Settings *settings; /* claude-profile.conf's */
        char *temporary;    /* this run's name for what is not complete */
        int output_fd;
        int settings_fd;    /* the directory of the profiles' files */
        atomic_uint *done;
        unsigned n_remarks;
} Generation;

static void generation_clear(Generation *g) {
        fd_close(g->output_fd);
        fd_close(g->settings_fd);
        free(g->temporary);
        (void) settings_free(g->settings);
        (void) dirs_free(g->dirs);
}
#define _cleanup_generation_ _cleanup_(generation_clear)

/* One line of the journal, and not more of them than anybody reads. */
static void remark(Generation *g, const char *format, ...) _printf_(2, 3);

static void remark(Generation *g, const char *format, ...) {
        _cleanup_free_ char *shown = NULL;
        char text[1024];
        va_list ap;

        if (++g->n_remarks > REMARKS_MAX) {
                if (g->n_remarks == REMARKS_MAX + 1)
                        log_warning("There is more of that kind; see: claude-profile list.");
                return;
        }

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);

        shown = str_escape(text);
        log_warning("%s.", shown ?: "Out of memory");
}

static void remark_all(Generation *g, char *const *sentences) {
        STRV_FOREACH(s, sentences)
                remark(g, "%s", *s);
}

/* Whole or not at all: it gets its name when it is complete, in place of what another run has left. Nothing is synced, for the manager
 * has it all made anew when it starts. `temporary` is no name of a unit. */
static int write_unit(const Generation *g, const char *temporary, const char *name, const char *text) {
        int r;

        r = io_write_new_at(g->output_fd, temporary, 0600, text, strlen(text));
        if (r >= 0 && renameat(g->output_fd, temporary, g->output_fd, name) < 0)
                r = -errno;
        if (r < 0)
                (void) unlinkat(g->output_fd, temporary, 0);
        return r;
}

static int write_slice(const Generation *g, const ProfileUnits *units) {
        _cleanup_free_ char *name = profile_slice_name(units->profile), *text = NULL;
        int r;

        if (!name)
                return -ENOMEM;

        r = render_slice(units, &text);
        return r < 0 ? r : write_unit(g, g->temporary, name, text);
}

static int write_drop_in(const Generation *g, const ProfileUnits *units) {
        _cleanup_free_ char *directory = NULL, *temporary = NULL, *name = NULL, *text = NULL;
        int r;

        r = render_supervisor(units, &text);
        if (r >= 0)
                r = asprintf_to(&directory, "claude-sandbox@%s.service.d", units->profile);
        if (r >= 0)
                r = asprintf_to(&temporary, "%s/%s", directory, g->temporary);
        if (r >= 0)
                r = asprintf_to(&name, "%s/" DROP_IN, directory);
        if (r < 0)
                return r;

        if (mkdirat(g->output_fd, directory, 0755) < 0 && errno != EEXIST)
                return -errno;
        return write_unit(g, temporary, name, text);
}

/* What the profile's own file says, if there is one: only that limits all of its launches together. */
static int read_own_settings(Generation *g, ProfileUnits *units, Settings **ret) {
        _cleanup_free_ char *name = NULL;
        struct stat st;
        int r;

        r = asprintf_to(&name, "%s.conf", units->profile);
        if (r < 0)
                return r;
        if (fstatat(g->settings_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && (errno == ENOENT || errno == EBADF))
                return 0;

        r = settings_load_file(g->dirs, units->profile, ret);
        if (r < 0)
                return r;

        remark_all(g, (*ret)->warnings);
        units->settings_file = (*ret)->profile_file;
        settings_limits(*ret, &units->limits);
        return 0;
}

/* As a launch decides it: the environment, else the profile's file, else claude-profile.conf, else the marker. */
static int is_sandboxed(const Generation *g, const Profile *p, const Settings *own) {
        return profile_is_sandboxed(p, own && own->sandbox >= 0 ? own : g->settings);
}

static int generate_profile(Generation *g, const char *name) {
        ProfileUnits units = { .profile = name };
        _cleanup_settings_ Settings *own = NULL;
        _cleanup_profile_ Profile *p = NULL;
        int r;

        r = profile_open(g->settings, name, &p);
        if (r < 0) {
                remark(g, "%s/%s: cannot be opened: %s", g->settings->profiles_base, name, strerror(-r));
                return 0;
        }
        r = read_own_settings(g, &units, &own);
        if (r < 0)
                return r;

        r = is_sandboxed(g, p, own);
        if (r < 0)
                remark(g, "%s: cannot tell whether it is sandboxed: %s", p->path, strerror(-r));
        if (r <= 0)
                return 0;

        units.path = p->path;
        r = write_slice(g, &units);
        return r < 0 ? r : write_drop_in(g, &units);
}

static int generate_all(Generation *g) {
        _cleanup_strv_ char **names = NULL, **odd = NULL;
        int r;

        r = profile_list(g->settings, &names, &odd);
        if (r < 0) {
                remark(g, "%s: cannot be read: %s", g->settings->profiles_base, strerror(-r));
                return 0;
        }

        remark_all(g, odd);
        STRV_FOREACH(name, names) {
                r = generate_profile(g, *name);
                if (r < 0)
                        return log_error(r, "Cannot write the units of profile %s", *name);
                atomic_fetch_add(g->done, 1);
        }

        return 0;
}

static int open_directories(Generation *g, const char *output) {
        _cleanup_free_ char *path = NULL;

        path = path_join(g->dirs->config, "profiles");
        if (!path)
                return log_oom();

        /* Without it no profile has a file. */
        g->settings_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (g->settings_fd < 0 && errno != ENOENT)
                remark(g, "%s: cannot be opened: %s", path, strerror(errno));

        g->output_fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return g->output_fd < 0 ? log_error(-errno, "Cannot open %s", output) : 0;
}

int generate(const char *output, atomic_uint *done) {
        _cleanup_generation_ Generation g = { .output_fd = -EBADF, .settings_fd = -EBADF, .done = done };
        int r;

        r = dirs_load_from_environment(&g.dirs);
        if (r == -ENXIO) {
                remark(&g, "HOME is not set to an absolute path, so no profiles are found");
                return 0;
        }
        if (r >= 0)
                r = settings_load_file(g.dirs, NULL, &g.settings);
        if (r >= 0)
                r = temporary_name("new", &g.temporary);
        if (r < 0)
                return log_error(r, "Cannot begin");

        r = open_directories(&g, output);
        if (r < 0)
                return r;

        remark_all(&g, g.settings->warnings);
        return generate_all(&g);
}
