/* SPDX-License-Identifier: MIT */

/* What a sandbox gets of the desktop: reading its clipboard, opening claude's own pages in its browser, and
 * the native-messaging host that this browser has started. The programs of the host are looked up here, in
 * the caller's PATH, and started by the supervisor, which takes the word of nobody else for them. */

#include <pwd.h>
#include <unistd.h>

#include "basic/alloc.h"
#include "basic/log.h"
#include "basic/path.h"
#include "basic/str.h"
#include "launch/desktop.h"
#include "launch/find-program.h"
#include "launch/plan.h"

#define NATIVE_HOSTS "/tmp/claude-mcp-browser-bridge-"

/* Whether a guest may write it: it will be executed on the host, outside of every sandbox. */
static bool is_guests(const Plan *p, const char *path) {
        _cleanup_free_ char *real = realpath(path, NULL);
        const char *const places[] = { p->work_root, p->git_common, p->request->settings->profiles_base };

        for (size_t i = 0; i < ELEMENTSOF(places) && real; i++)
                if (places[i] && path_is_within(real, places[i]))
                        return true;

        return !real;
}

/* Found in PATH, or given as a path. A relative one would mean something else elsewhere. */
static int look_for(const Plan *p, const char *name, char **ret) {
        _cleanup_free_ char *found = NULL, *passed_over = NULL;
        int r;

        r = find_program(name, 0, &found, &passed_over);
        if (r >= 0 && found[0] != '/')
                r = -EINVAL;
        if (r >= 0 && is_guests(p, found))
                r = -EPERM;
        if (r < 0)
                return r;

        *ret = TAKE_PTR(found);
        return 0;
}

/* 1, 0 when there is none, having said so, or -ENOMEM. */
static int find_paste(const Plan *p, HostPrograms *programs) {
        const PasteProgram program = desktop_paste_program();
        int r;

        if (program < 0) {
                log_warning("There is no desktop to read the clipboard of (neither WAYLAND_DISPLAY nor DISPLAY is set); "
                            "the sandbox gets none.");
                return 0;
        }

        programs->paste_program = program;
        r = look_for(p, paste_program_to_string(program), &programs->paste);
        if (r == -ENOMEM)
                return r;
        if (r < 0) {
                log_warning("The clipboard is read with %s, which is not in PATH; the sandbox gets none. "
                            "Install the package %s.",
                                paste_program_to_string(program), desktop_paste_package(program));
                return 0;
        }

        return 1;
}

static int find_browser(const Plan *p, HostPrograms *programs) {
        const Settings *settings = p->request->settings;
        _cleanup_free_ char *shown = NULL;
        int r = -ENOENT;

        if (settings->chrome_bin)
                r = look_for(p, settings->chrome_bin, &programs->browser);
        for (const char *const *name = desktop_browsers; *name && !settings->chrome_bin && r < 0 && r != -ENOMEM; name++)
                r = look_for(p, *name, &programs->browser);
        if (r >= 0)
                return 1;
        if (r == -ENOMEM)
                return r;

        shown = settings->chrome_bin ? str_escape(settings->chrome_bin) : NULL;
        if (settings->chrome_bin)
                log_warning("The browser %s (CLAUDE_PROFILE_CHROME_BIN or ChromeBin=) cannot be used: %s; "
                            "the sandbox cannot open pages.", shown ?: "?", strerror(-r));
        else
                log_warning("No Google Chrome is installed here (google-chrome is not in PATH, and there is no "
                            "/opt/google/chrome/chrome); the sandbox cannot open pages. See CLAUDE_PROFILE_CHROME_BIN.");
        return 0;
}

/* Of this uid by the user database: $USER is whatever the caller likes. */
static int native_hosts_directory(char **ret) {
        const struct passwd *pw = getpwuid(getuid());

        if (!pw || strchr(pw->pw_name, '/')) {
                log_warning("This user has no name in the user database; claude in the sandbox cannot reach the browser.");
                return 0;
        }

        return asprintf_to(ret, NATIVE_HOSTS "%s", pw->pw_name) < 0 ? -ENOMEM : 1;
}

static int add_chrome(Plan *p) {
        _cleanup_free_ char *directory = NULL;
        int r;

        r = find_browser(p, &p->programs);
        if (r > 0)
                r = plan_add_service(p, (ServiceId) { .kind = SERVICE_OPEN }, NULL, NULL);
        if (r >= 0)
                r = native_hosts_directory(&directory);
        if (r > 0)
                r = plan_add_service(p, (ServiceId) { .kind = SERVICE_CHROME }, directory, GUEST_CHROME_SOCKET);

        return r;
}

int plan_desktop(Plan *p) {
        const Settings *settings = p->request->settings;
        int r = 0;

        if (settings->clipboard) {
                r = find_paste(p, &p->programs);
                if (r > 0)
                        r = plan_add_service(p, (ServiceId) { .kind = SERVICE_CLIPBOARD }, NULL, NULL);
        }
        if (r >= 0 && settings->chrome)
                r = add_chrome(p);
        if (r >= 0 && (p->programs.browser || p->programs.paste))
                r = host_programs_environment(&p->programs.environment);

        return r < 0 ? log_oom() : 0;
}
